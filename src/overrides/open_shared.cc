#include "overrides/open_shared.h"

#include <string_view>
#include <utility>

#include "url/mysql_url.h"
#include "overrides/mysql_store.h"
#include "overrides/shared_sqlite_store.h"

namespace sluice::overrides {

Result<std::unique_ptr<OverrideStore>> open_shared(const std::string& url) {
    constexpr std::string_view kSqlite = "sqlite:";
    if (url.starts_with(kSqlite)) {
        return std::unique_ptr<OverrideStore>(std::make_unique<SharedSqliteStore>(
            SharedSqliteOptions{.path = url.substr(kSqlite.size())}));
    }
    auto parsed = parse_mysql_url(url);
    if (!parsed) return std::move(parsed).error();
    return std::unique_ptr<OverrideStore>(
        std::make_unique<MysqlStore>(MysqlOptions{.url = *std::move(parsed)}));
}

}  // namespace sluice::overrides
