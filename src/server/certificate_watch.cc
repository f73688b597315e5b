#include "server/certificate_watch.h"

#include <ctime>
#include <utility>

#include <sys/stat.h>

namespace sluice::server {
namespace {

std::chrono::nanoseconds time_of(const timespec& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

CertificateFiles::CertificateFiles(const config::TlsSettings& tls)
    : files_{look_at(tls.cert), look_at(tls.key), look_at(tls.client_ca)} {}

CertificateFiles::File CertificateFiles::look_at(const std::string& path) {
    File file{.path = path};
    struct stat status {};
    if (path.empty() || ::stat(path.c_str(), &status) != 0) return file;
    file.device = status.st_dev;
    file.inode = status.st_ino;
    file.size = status.st_size;
    file.modified = time_of(status.st_mtim);
    file.changed = time_of(status.st_ctim);
    return file;
}

std::optional<CertificateLoad> CertificateWatch::check(const config::TlsSettings& tls) {
    const CertificateFiles now(tls);
    if (now != std::exchange(files_, now)) return CertificateLoad::kChanged;
    if (has_failed_) return CertificateLoad::kRetry;
    return std::nullopt;
}

}  // namespace sluice::server
