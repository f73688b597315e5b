#include "service/global_store_url.h"

#include <utility>
#include <variant>

#include "global/memory_store.h"
#include "global/mysql/mysql_global_store.h"
#include "global/sqlite/sqlite_global_store.h"
#include "mysql/mysql_schema.h"
#include "sqlite/schema.h"
#include "url/mysql_url.h"
#include "url/store_url.h"

namespace sluice {
namespace {

Result<std::unique_ptr<GlobalStore>> open_mysql(const GlobalPlace& place) {
    auto url = parse_mysql_url(place.url);
    if (!url) return std::move(url).error();
    return std::unique_ptr<GlobalStore>(std::make_unique<MysqlGlobalStore>(
        MysqlGlobalOptions{.server = {.url = *std::move(url)}, .region = place.region}));
}

std::unique_ptr<GlobalStore> open_sqlite(const GlobalPlace& place) {
    return std::make_unique<SqliteGlobalStore>(SqliteGlobalOptions{
        .path = place.url.substr(kSqliteScheme.size()), .region = place.region});
}

// How often a batch of a cleanup is tried while the store is busy.
constexpr int kTries = 5;

Error cleanup_failed(const StoreFailure& failure, std::uint64_t deleted) {
    return {kStoreFailed,
            failure.why + "; " + std::to_string(deleted) + " rows were deleted before that"};
}

}  // namespace

Result<std::unique_ptr<GlobalStore>> open_global(const GlobalPlace& place) {
    if (auto error = invalid_global(place.url)) return *std::move(error);
    if (is_mysql_url(place.url)) return open_mysql(place);
    if (place.url.starts_with(kSqliteScheme)) return open_sqlite(place);
    return MemoryWorld::named(place.url.substr(kMemoryScheme.size()))->join(place.region);
}

Result<Migration> migrate_global(const std::string& url, DryRun dry_run) {
    if (auto error = invalid_global(url)) return *std::move(error);
    if (url.starts_with(kSqliteScheme))
        return migrate_sqlite(url.substr(kSqliteScheme.size()), dry_run);
    if (url.starts_with(kMemoryScheme))
        return Error{kInvalidOption, "global is in this process's memory, which has no schema"};
    auto parsed = parse_mysql_url(url);
    if (!parsed) return std::move(parsed).error();
    return migrate_mysql(*parsed, dry_run);
}

// A batch that deletes less than it may is the last one.
Result<CleanupOutcome> cleanup_global(GlobalStore& store, const Cleanup& cleanup) {
    std::uint64_t deleted = 0;
    for (int tries = 1;; ++tries) {
        const auto batch = store.delete_expired(kCleanupMargin, cleanup.batch);
        const auto* const failure = std::get_if<StoreFailure>(&batch);
        const bool is_busy = failure != nullptr && failure->kind == StoreFailure::Kind::kBusy;
        if (failure != nullptr && (!is_busy || tries == kTries))
            return cleanup_failed(*failure, deleted);
        if (failure == nullptr) {
            tries = 0;
            deleted += std::get<0>(batch);
            if (std::get<0>(batch) < cleanup.batch) return CleanupOutcome{deleted, true};
        }
        if (!cleanup.pause(deleted)) return CleanupOutcome{deleted, false};
    }
}

}  // namespace sluice
