#include "server/resources.h"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/stat.h>

#include "base/sha256.h"
#include "overrides/stores.h"
#include "server/version.h"
#include "service/test_options.h"
#include "url/collector_url.h"
#include "url/store_url.h"

namespace sluice::server {
namespace {

using overrides::OverrideSet;
using overrides::OverrideStore;
using overrides::SqliteOverrideStore;

using Opened = Result<std::unique_ptr<OverrideSet>>;

// A change reaches every node within ten seconds, including the time to read it.
constexpr std::chrono::seconds kOverridePollInterval{5};

// The error of a setting whose value is text.
Error unusable(const char* setting, const std::string& value, const Error& error) {
    return setting_error(setting, "\"" + value + "\"", error.message);
}

// Creates the last folder of the path for this user alone, its parents by the umask.
std::error_code make_private_folder(const std::string& folder) {
    namespace fs = std::filesystem;
    std::error_code problem;
    fs::path path = fs::absolute(folder, problem).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();  // "data/"
    if (!problem) fs::create_directories(path.parent_path(), problem);
    if (problem) return problem;
    if (::mkdir(path.c_str(), S_IRWXU) == 0) {
        fs::permissions(path, fs::perms::owner_all, problem);
    } else if (errno != EEXIST) {
        problem = std::error_code(errno, std::generic_category());
    } else if (!fs::is_directory(path, problem) && !problem) {
        problem = std::make_error_code(std::errc::not_a_directory);
    }
    return problem;
}

bool is_open_to_others(const std::string& folder) {
    struct stat status {};
    return ::stat(folder.c_str(), &status) == 0 && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0;
}

std::optional<Error> open_data_dir(const std::string& folder, Log& log) {
    if (folder.empty()) return std::nullopt;
    if (const std::error_code problem = make_private_folder(folder)) {
        return setting_error(
            "data_dir", "\"" + folder + "\"", "the folder can't be created: " + problem.message());
    }
    if (is_open_to_others(folder)) {
        log.warn("data_dir_open",
                 {{"why", "other users may enter the data directory; set its mode to 700"},
                  {"data_dir", folder}});
    }
    return std::nullopt;
}

// Without an origin, counts survive a restart in the data directory, if there is one.
std::string origin_of(const config::Settings& settings) {
    if (!settings.origin.empty() || settings.data_dir.empty()) return settings.origin;
    return "sqlite:" + (std::filesystem::path(settings.data_dir) / "counts.db").string();
}

// Identifiers are not logged; 64 bits of the hash are enough to find one that is known.
std::string short_hash(std::string_view identifier) {
    return to_hex(sha256_of(identifier)).substr(0, 16);
}

Options limiter_options(const config::Settings& settings, Log& log, OnThreadFailure on_failure) {
    const config::OriginTlsSettings& tls = settings.origin_tls;
    return {.region = settings.region,
            .max_keys = settings.max_keys,
            .origin = origin_of(settings),
            .origin_tls = {.ca = tls.ca, .cert = tls.cert, .key = tls.key},
            .origin_timeout = settings.origin_timeout,
            .on_origin_change =
                [&log, was_unavailable = false](const OriginChange& change) mutable {
                    if (change.unavailable) {
                        log.warn("origin_unavailable", {{"why", change.why}});
                    } else if (was_unavailable) {  // else it is the first connection
                        log.info("origin_recovered");
                    }
                    was_unavailable = change.unavailable;
                },
            .on_origin_key_error =
                [&log](const std::string& why) {
                    log.warn("origin_key_error", {{"why", why}});
                },
            .on_origin_clock_offset =
                [&log](std::chrono::milliseconds offset) {
                    log.warn("origin_clock_offset", {{"offset_ms", offset.count()}});
                },
            .global = settings.global,
            .global_replica = settings.global_replica,
            .global_cleanup = settings.global_cleanup,
            .global_max_cells = settings.global_max_cells,
            .global_min_regions = settings.global_min_regions,
            .on_global_change =
                [&log](const GlobalChange& change) {
                    if (change.unavailable) {
                        log.warn("global_unavailable", {{"why", change.why}});
                    } else {
                        log.info("global_recovered");
                    }
                },
            .on_global_refusal =
                [&log](const GlobalRefusal& refusal) {
                    log.warn("global_rows_refused",
                             {{"rows", refusal.rows},
                              {"namespace", refusal.name_space},
                              {"identifier_bytes", refusal.identifier.size()},
                              {"identifier_sha256", short_hash(refusal.identifier)},
                              {"why", refusal.why}});
                },
            .bus = settings.bus,
            .bus_credentials = settings.bus_credentials,
            .bus_tls = {.ca = settings.bus_tls.ca,
                        .cert = settings.bus_tls.cert,
                        .key = settings.bus_tls.key},
            .bus_workspaces = settings.bus_workspaces,
            .on_bus_change =
                [&log](const BusChange& change) {
                    if (change.unavailable) {
                        log.warn("bus_unavailable", {{"why", change.why}});
                    } else {
                        log.info("bus_recovered");
                    }
                },
            .on_thread_failure = std::move(on_failure)};
}

Error without_prefix(std::string_view prefix, Error error) {
    if (error.message.starts_with(prefix)) error.message.erase(0, prefix.size());
    return error;
}

Error limiter_error(const config::Settings& settings, const Error& error) {
    if (error.code == kOutOfMemory)
        return setting_error("max_keys", std::to_string(settings.max_keys), error.message);
    if (error.code == kOutOfThreads) return error;
    if (error.message.starts_with("bus"))
        return unusable("bus", shown_bus(settings.bus), without_prefix("bus: ", error));
    if (error.message.starts_with("global"))
        return unusable("global", shown_global(settings.global), error);
    if (!settings.origin.empty()) return unusable("origin", shown_origin(settings.origin), error);
    return unusable("data_dir", settings.data_dir, error);
}

Result<std::unique_ptr<SqliteOverrideStore>> open_file(const config::Settings& settings,
                                                       const char* name) {
    const std::filesystem::path folder(settings.data_dir);
    auto opened = SqliteOverrideStore::open({.path = (folder / name).string()});
    if (!opened) return unusable("data_dir", settings.data_dir, opened.error());
    return opened;
}

Opened open_local(const config::Settings& settings) {
    if (settings.data_dir.empty())
        return OverrideSet::open(std::make_unique<overrides::MemoryStore>());
    auto store = open_file(settings, "overrides.db");
    if (!store) return std::move(store).error();
    auto set = OverrideSet::open(*std::move(store));
    if (!set) return unusable("data_dir", settings.data_dir, set.error());
    return set;
}

// Overrides that the node stored before it had a global store stay in its file, unused. They may be
// bans, so this must not go unnoticed.
void warn_of_unused_overrides(const config::Settings& settings, Log& log) {
    const std::filesystem::path path = std::filesystem::path(settings.data_dir) / "overrides.db";
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return;
    const auto store = SqliteOverrideStore::open({.path = path.string()});
    const auto held = store ? (*store)->load_all() : store.error();
    if (held && held->overrides.empty()) return;
    log.warn(
        "overrides_unused",
        {{"why", "overrides now come from the global store; set these there, then remove the file"},
         {"file", path.string()},
         {"overrides", held ? held->overrides.size() : 0}});
}

// The copy has a file of its own: it must not overwrite the overrides of a node without a global
// store.
Opened open_copied(std::unique_ptr<OverrideStore> shared,
                   const config::Settings& settings,
                   Log& log) {
    warn_of_unused_overrides(settings, log);
    auto copy = open_file(settings, "global_overrides.db");
    if (!copy) return std::move(copy).error();
    auto known = (*copy)->load_all();
    if (!known) return unusable("data_dir", settings.data_dir, known.error());
    const auto on_failure = [&log](const Error& error) {
        log.warn("overrides_copy_failed", {{"why", error.message}});
    };
    auto store = overrides::make_copied_store(
        {.shared = std::move(shared), .copy = *std::move(copy), .on_failure = on_failure});
    auto set = OverrideSet::open_shared(std::move(store), std::move(known->overrides));
    if (!set) return unusable("data_dir", settings.data_dir, set.error());
    return set;
}

}  // namespace

Error setting_error(const char* setting, const std::string& value, const std::string& why) {
    return {kInvalidOption, std::string(setting) + " is " + value + ": " + why};
}

Result<Limiter> open_limiter(const config::Settings& settings,
                             Log& log,
                             OnThreadFailure on_failure) {
    if (auto failed = open_data_dir(settings.data_dir, log)) return *std::move(failed);
    auto limiter = create_limiter(limiter_options(settings, log, std::move(on_failure)),
                                  {.global_interval = settings.test_global_interval});
    if (!limiter) return limiter_error(settings, limiter.error());
    return limiter;
}

Opened open_overrides(const config::Settings& settings, Log& log) {
    if (settings.global.empty()) return open_local(settings);
    auto shared = overrides::open_shared_store(settings.global);
    if (!shared) return unusable("global", shown_global(settings.global), shared.error());
    if (settings.data_dir.empty()) return OverrideSet::open_shared(*std::move(shared), {});
    return open_copied(*std::move(shared), settings, log);
}

std::unique_ptr<overrides::OverrideChanges> start_override_changes(const config::Settings& settings,
                                                                   OverrideSet& set,
                                                                   Log& log,
                                                                   OnThreadFailure on_failure) {
    const auto on_health_change = [&set, &log](const std::optional<Error>& failure) {
        if (failure) {
            log.warn("override_store_unavailable",
                     {{"why", failure->message}, {"held", set.size()}});
        } else {
            log.info("override_store_recovered", {{"held", set.size()}});
        }
    };
    std::chrono::milliseconds interval{0};
    if (!settings.global.empty()) interval = kOverridePollInterval;
    if (interval.count() > 0 && settings.test_global_interval.count() > 0)
        interval = settings.test_global_interval;
    return std::make_unique<overrides::OverrideChanges>(
        set,
        overrides::OverrideChanges::Options{.interval = interval,
                                            .on_health_change = on_health_change,
                                            .on_thread_failure = std::move(on_failure)});
}

Result<std::unique_ptr<trace::Tracer>> start_tracer(const config::Settings& settings,
                                                    Log& log,
                                                    OnThreadFailure on_failure) {
    auto collector = parse_collector_url(settings.trace.endpoint);
    if (!collector) {
        return setting_error(
            "trace.endpoint", "\"" + settings.trace.endpoint + "\"", collector.error().message);
    }
    return trace::Tracer::start(
        {.collector = *std::move(collector),
         .one_in = settings.trace.one_in,
         .with_identifiers = settings.trace.identifiers,
         .resource = {{"service.version", kVersion}, {"sluice.region", settings.region}},
         .on_change =
             [&log](const std::string& why) {
                 if (why.empty()) {
                     log.info("trace_recovered");
                 } else {
                     log.warn("trace_unavailable", {{"why", why}});
                 }
             },
         .on_thread_failure = std::move(on_failure)});
}

Result<std::shared_ptr<const http::TlsContext>> load_tls(const config::TlsSettings& tls) {
    return http::TlsContext::load(
        {.certificate = tls.cert, .key = tls.key, .client_ca = tls.client_ca});
}

}  // namespace sluice::server
