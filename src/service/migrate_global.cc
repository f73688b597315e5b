#include "service/migrate_global.h"

#include <string_view>
#include <utility>

#include "mysql/mysql_schema.h"
#include "service/open_global.h"
#include "sqlite/schema.h"

namespace sluice {

Result<Migration> migrate_global(const std::string& url, DryRun dry_run) {
    constexpr std::string_view kSqlite = "sqlite:";
    if (auto error = invalid_global(url)) return *std::move(error);
    if (url.starts_with(kSqlite)) return migrate_sqlite(url.substr(kSqlite.size()), dry_run);
    if (url.starts_with("memory:"))
        return Error{kInvalidOption, "global is in this process's memory, which has no schema"};
    auto parsed = parse_mysql_url(url);
    if (!parsed) return std::move(parsed).error();
    return migrate_mysql(*parsed, dry_run);
}

}  // namespace sluice
