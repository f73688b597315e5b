#include "cli/open_overrides.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "overrides/shared_store.h"
#include "overrides/sqlite_store.h"
#include "service/open_global.h"

namespace sluice::cli {
namespace {

using overrides::CopiedStore;
using overrides::OverrideSet;
using overrides::OverrideStore;
using overrides::SqliteOverrideStore;

using Opened = Result<std::unique_ptr<OverrideSet>>;

// A change reaches every node within ten seconds, the time to read it included.
constexpr std::chrono::seconds kHearOthers{5};

Error about(const char* setting, const std::string& value, const Error& error) {
    return {kInvalidOption, std::string(setting) + " is \"" + value + "\": " + error.message};
}

Result<std::unique_ptr<SqliteOverrideStore>> open_file(const config::Settings& settings,
                                                       const char* name) {
    const std::filesystem::path folder(settings.data_dir);
    auto opened = SqliteOverrideStore::open({.path = (folder / name).string()});
    if (!opened) return about("data_dir", settings.data_dir, opened.error());
    return opened;
}

Opened open_own(const config::Settings& settings) {
    if (settings.data_dir.empty())
        return OverrideSet::open(std::make_unique<overrides::MemoryStore>());
    auto store = open_file(settings, "overrides.db");
    if (!store) return std::move(store).error();
    auto set = OverrideSet::open(*std::move(store));
    if (!set) return about("data_dir", settings.data_dir, set.error());
    return set;
}

// A node that had overrides of its own still has them in its file, where nobody looks: they might
// be bans.
void warn_of_own(const config::Settings& settings, Log& log) {
    const std::filesystem::path path = std::filesystem::path(settings.data_dir) / "overrides.db";
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return;
    const auto store = SqliteOverrideStore::open({.path = path.string()});
    const auto held = store ? (*store)->load_all() : store.error();
    if (held && held->overrides.empty()) return;
    log.warn("overrides_unused",
             {{"why",
               "overrides are those of the global store; set these there, then remove the "
               "file"},
              {"file", path.string()},
              {"overrides", held ? held->overrides.size() : 0}});
}

// Not in the file of a node's own overrides, which must not be lost to those of others.
Opened open_copied(std::unique_ptr<OverrideStore> shared,
                   const config::Settings& settings,
                   Log& log) {
    warn_of_own(settings, log);
    auto copy = open_file(settings, "global_overrides.db");
    if (!copy) return std::move(copy).error();
    auto known = (*copy)->load_all();
    if (!known) return about("data_dir", settings.data_dir, known.error());
    const auto on_failure = [&log](const Error& error) {
        log.warn("overrides_copy_failed", {{"why", error.message}});
    };
    auto store = std::make_unique<CopiedStore>(CopiedStore::Options{
        .shared = std::move(shared), .copy = *std::move(copy), .on_failure = on_failure});
    auto set = OverrideSet::open_shared(std::move(store), std::move(known->overrides));
    if (!set) return about("data_dir", settings.data_dir, set.error());
    return set;
}

}  // namespace

Opened open_overrides(const config::Settings& settings, Log& log) {
    if (settings.global.empty()) return open_own(settings);
    auto shared = overrides::open_shared_store(settings.global);
    if (!shared) return about("global", shown_global(settings.global), shared.error());
    if (settings.data_dir.empty()) return OverrideSet::open_shared(*std::move(shared), {});
    return open_copied(*std::move(shared), settings, log);
}

std::unique_ptr<overrides::OverrideChanges> start_changes(const config::Settings& settings,
                                                          OverrideSet& set,
                                                          Log& log) {
    const auto on_trouble = [&set, &log](const std::optional<Error>& trouble) {
        if (trouble) {
            log.warn("override_store_unavailable",
                     {{"why", trouble->message}, {"held", set.size()}});
        } else {
            log.info("override_store_recovered", {{"held", set.size()}});
        }
    };
    std::chrono::milliseconds interval{0};
    if (!settings.global.empty()) interval = kHearOthers;
    if (interval.count() > 0 && settings.test_global_interval.count() > 0)
        interval = settings.test_global_interval;
    return std::make_unique<overrides::OverrideChanges>(
        set, overrides::OverrideChanges::Options{.interval = interval, .on_trouble = on_trouble});
}

}  // namespace sluice::cli
