#include "service/open_global.h"

#include <utility>

#include "global/memory_store.h"
#include "global/mysql/mysql_store.h"
#include "global/sqlite/sqlite_global_store.h"
#include "url/mysql_url.h"
#include "url/store_url.h"

namespace sluice {
namespace {

Result<std::unique_ptr<GlobalStore>> open_mysql(const GlobalPlace& place) {
    auto url = parse_mysql_url(place.url);
    if (!url) return std::move(url).error();
    return std::unique_ptr<GlobalStore>(std::make_unique<MysqlStore>(
        MysqlStoreOptions{.server = {.url = *std::move(url)}, .region = place.region}));
}

std::unique_ptr<GlobalStore> open_sqlite(const GlobalPlace& place) {
    return std::make_unique<SqliteGlobalStore>(SqliteGlobalOptions{
        .path = place.url.substr(kSqliteScheme.size()), .region = place.region});
}

}  // namespace

Result<std::unique_ptr<GlobalStore>> open_global(const GlobalPlace& place) {
    if (auto error = invalid_global(place.url)) return *std::move(error);
    if (is_mysql_url(place.url)) return open_mysql(place);
    if (place.url.starts_with(kSqliteScheme)) return open_sqlite(place);
    return MemoryWorld::named(place.url.substr(kMemoryScheme.size()))->join(place.region);
}

}  // namespace sluice
