#include "doctor/machine_checks.h"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "doctor/server_probe.h"
#include "http/wire/listener.h"
#include "rls/rule_file.h"
#include "server/resources.h"
#include "server/rule_subscription.h"
#include "url/xds_url.h"

namespace sluice::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMebibyte = 1024UL * 1024;
constexpr std::uint64_t kLeastSpace = 64 * kMebibyte;
constexpr std::uint64_t kUsualSpace = 1024 * kMebibyte;
constexpr int kDaysToRenew = 14;
// Files that are not connections.
constexpr rlim_t kReservedFiles = 256;

std::string reason() {
    return std::generic_category().message(errno);
}

void check_address(const char* setting,
                   const config::Address& address,
                   ListenerKind kind,
                   const config::Settings& settings,
                   Findings& findings) {
    const std::string name = std::string(setting) + " " + config::to_string(address);
    const auto free = http::claim({.host = address.host, .port = address.port});
    if (free) return findings.ok("addresses", name + " is free");
    switch (probe_server(address, kind, settings.tls.enabled() ? Tls::kYes : Tls::kNo)) {
        case ServerKind::kSluice:
            return findings.ok("addresses", name + ": a server runs there already");
        case ServerKind::kUnknown:
            return findings.warn(
                "addresses",
                name + " is taken by a server that asks for a certificate, which may be Sluice",
                "see with ss -ltnp which process has the port");
        case ServerKind::kForeign:
            break;
    }
    findings.fault("addresses",
                   std::string(setting) + " can't be used: " + free.error().message,
                   "stop the process that has the port (ss -ltnp shows it), or set " +
                       std::string(setting) +
                       " to another address; ports below 1024 need socket "
                       "activation");
}

// When the first certificate of a file expires; none if that can't be read.
std::optional<std::chrono::hours> time_left(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                               std::fclose);
    if (!file) return std::nullopt;
    const std::unique_ptr<X509, void (*)(X509*)> certificate(
        PEM_read_X509(file.get(), nullptr, nullptr, nullptr), X509_free);
    int days = 0;
    int seconds = 0;
    if (!certificate ||
        ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(certificate.get())) != 1)
        return std::nullopt;
    // Both have the same sign.
    return std::chrono::hours(24) * days + std::chrono::hours(seconds < 0 ? -1 : 0);
}

void check_space(const std::string& folder, Findings& findings) {
    struct statvfs space {};
    if (statvfs(folder.c_str(), &space) != 0) return;
    const std::uint64_t free = std::uint64_t{space.f_bavail} * space.f_frsize;
    const std::string what = folder + ": " + std::to_string(free / kMebibyte) + " MiB are free";
    if (free < kLeastSpace) {
        findings.fault("data_dir", what, "free space, or set data_dir to another file system");
    } else if (free < kUsualSpace) {
        findings.warn("data_dir", what, "free space, or set data_dir to another file system");
    } else {
        findings.ok("data_dir", what);
    }
}

// Why no file can be written there; none if one can.
std::optional<std::string> unwritable(const std::string& folder) {
    std::string path = folder + "/.doctor-XXXXXX";
    const int file = mkstemp(path.data());
    if (file < 0) return reason();
    const bool is_written = ::write(file, "x", 1) == 1;
    const std::string why = reason();
    ::close(file);
    ::unlink(path.c_str());
    return is_written ? std::nullopt : std::optional(why);
}

// Whether the server can create a folder. `failure` is why it can't be looked at.
void check_missing(const std::string& folder, int failure, Findings& findings) {
    if (failure != ENOENT && failure != ENOTDIR) {
        return findings.fault(
            "data_dir",
            folder + " can't be looked at: " + std::generic_category().message(failure),
            "run this as the user of the server; for the service of systemd, in its sandbox "
            "(docs/operations.md, Before the first start)");
    }
    std::error_code ignored;
    fs::path parent = fs::path(folder).lexically_normal();
    while (!parent.empty() && !fs::exists(parent, ignored) && parent.has_parent_path() &&
           parent != parent.parent_path())
        parent = parent.parent_path();
    if (parent.empty() || !fs::exists(parent, ignored)) parent = ".";
    if (access(parent.c_str(), W_OK | X_OK) != 0) {
        findings.fault("data_dir",
                       folder + " does not exist, and can't be created: " + reason(),
                       "create it, and give it to the user of the server, with mode 700");
    } else {
        findings.ok("data_dir", folder + " will be created");
    }
}

}  // namespace

void check_files(const config::Settings& settings, Findings& findings) {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    const rlim_t listeners = settings.grpc.listen ? 2 : 1;  // each takes that many
    const rlim_t wanted = listeners * settings.http.max_connections + kReservedFiles;
    const std::string what = "at most " +
                             (limit.rlim_max == RLIM_INFINITY ? std::string("any number of")
                                                              : std::to_string(limit.rlim_max)) +
                             " files may be open";
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= wanted)
        return findings.ok("files", what);
    findings.warn("files",
                  what + ", too few for " + std::to_string(settings.http.max_connections) +
                      " connections of each listener",
                  "LimitNOFILE=" + std::to_string(wanted) +
                      " in the unit, or ulimit -Hn; or lower http.max_connections");
}

void check_addresses(const config::Settings& settings, Findings& findings) {
    const auto check = [&](const char* setting, const config::Address& address, ListenerKind kind) {
        check_address(setting, address, kind, settings, findings);
    };
    check("listen", settings.listen, ListenerKind::kApi);
    if (settings.admin_listen) check("admin_listen", *settings.admin_listen, ListenerKind::kAdmin);
    if (settings.grpc.listen) check("grpc.listen", *settings.grpc.listen, ListenerKind::kGrpc);
}

void check_data_dir(const config::Settings& settings, Findings& findings) {
    const std::string& folder = settings.data_dir;
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0) return check_missing(folder, errno, findings);
    if (!S_ISDIR(status.st_mode))
        return findings.fault("data_dir", folder + " is no folder", "set data_dir to a folder");
    if (const auto why = unwritable(folder)) {
        findings.fault("data_dir",
                       folder + " can't be written: " + *why,
                       "give it to the user of the server: chown sluice: " + folder);
    } else {
        findings.ok("data_dir", folder + " can be written");
    }
    if ((status.st_mode & S_IRWXO) != 0) {
        findings.warn("data_dir",
                      folder + " can be entered by every user, and holds overrides",
                      "chmod 700 " + folder);
    }
    check_space(folder, findings);
}

void check_tls(const config::Settings& settings, Findings& findings) {
    const auto context = server::load_tls(settings.tls);
    if (!context) {
        return findings.fault("tls",
                              context.error().message,
                              "correct tls.cert, tls.key and tls.client_ca; the user of the server "
                              "must be allowed to read the files");
    }
    const auto left = time_left(settings.tls.cert);
    if (!left) return findings.ok("tls", "the certificate and its key fit");
    const std::string days = std::to_string(*left / std::chrono::hours(24));
    if (left->count() < 0) {
        findings.fault("tls", settings.tls.cert + " has expired", "renew it");
    } else if (*left < std::chrono::hours(24) * kDaysToRenew) {
        findings.warn("tls",
                      settings.tls.cert + " expires in " + days + " days",
                      "renew it; a server that runs loads it within 10 seconds");
    } else {
        findings.ok("tls", settings.tls.cert + " is valid for " + days + " days");
    }
}

void check_rules(const config::Settings& settings, Findings& findings) {
    if (is_xds_url(settings.rules)) {
        const auto error = server::invalid_subscription(settings);
        if (!error) return findings.ok("rules", "the xDS server has them");
        return findings.fault("rules", error->message, "correct `rules` and rules_tls.*");
    }
    const auto rules = rls::load_rules(
        settings.rules,
        settings.rls.merge_domains ? rls::SameDomain::kMerge : rls::SameDomain::kRefuse);
    if (!rules)
        return findings.fault("rules", rules.error().message, "correct the file that is named");
    for (const std::string& warning : (*rules)->warnings())
        findings.warn("rules", warning, "remove the key, or move it where it has an effect");
    findings.ok("rules", settings.rules + " is valid");
}

}  // namespace sluice::doctor
