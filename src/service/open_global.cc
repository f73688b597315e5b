#include "service/open_global.h"

#include <string_view>
#include <utility>

#include "global/memory_store.h"
#include "global/mysql/mysql_global_store.h"
#include "global/sqlite/sqlite_global_store.h"
#include "mysql/mysql_url.h"

namespace sluice {
namespace {

constexpr std::string_view kMemory = "memory:";
constexpr std::string_view kSqlite = "sqlite:";

bool is_mysql(const std::string& url) {
    return url.starts_with("mysql:");
}

Result<std::unique_ptr<GlobalStore>> open_mysql(const GlobalPlace& place) {
    auto url = parse_mysql_url(place.url);
    if (!url) return std::move(url).error();
    return std::unique_ptr<GlobalStore>(std::make_unique<MysqlGlobalStore>(
        MysqlGlobalOptions{.server = {.url = *std::move(url)}, .region = place.region}));
}

std::unique_ptr<GlobalStore> open_sqlite(const GlobalPlace& place) {
    return std::make_unique<SqliteGlobalStore>(
        SqliteGlobalOptions{.path = place.url.substr(kSqlite.size()), .region = place.region});
}

}  // namespace

std::optional<Error> invalid_global(const std::string& url) {
    for (const std::string_view scheme : {kMemory, kSqlite}) {
        if (!url.starts_with(scheme)) continue;
        if (url.size() > scheme.size()) return std::nullopt;
        return Error{kInvalidOption,
                     "global is \"" + url + "\", which lacks a " +
                         (scheme == kMemory ? "name" : "path") + " after the colon"};
    }
    if (is_mysql(url)) {
        auto parsed = parse_mysql_url(url);
        if (!parsed) return std::move(parsed).error();
        return std::nullopt;
    }
    // What it is instead is not shown: it may hold a password.
    return Error{kInvalidOption,
                 "global is of no known kind; allowed: mysql://, sqlite:PATH and memory:NAME"};
}

std::string shown_global(const std::string& url) {
    if (is_mysql(url)) {
        const auto parsed = parse_mysql_url(url);
        return parsed ? parsed->shown() : std::string();
    }
    return invalid_global(url) ? std::string() : url;
}

Result<std::unique_ptr<GlobalStore>> open_global(const GlobalPlace& place) {
    if (auto error = invalid_global(place.url)) return *std::move(error);
    if (is_mysql(place.url)) return open_mysql(place);
    if (place.url.starts_with(kSqlite)) return open_sqlite(place);
    return MemoryWorld::named(place.url.substr(kMemory.size()))->join(place.region);
}

}  // namespace sluice
