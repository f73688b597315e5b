#include "overrides/shared_store.h"

#include <string_view>

#include "overrides/mysql_store.h"
#include "url/mysql_url.h"

namespace sluice::overrides {

Result<std::unique_ptr<OverrideStore>> open_shared_store(const std::string& url) {
    constexpr std::string_view kSqlite = "sqlite:";
    if (url.starts_with(kSqlite)) {
        return std::unique_ptr<OverrideStore>(std::make_unique<SqliteOverrideStore>(
            SqliteOverrideOptions{.path = url.substr(kSqlite.size()),
                                  .use = sqlite::Use::kShared,
                                  .busy_timeout = std::chrono::seconds{5}}));
    }
    auto parsed = parse_mysql_url(url);
    if (!parsed) return std::move(parsed).error();
    return std::unique_ptr<OverrideStore>(
        std::make_unique<MysqlOverrideStore>(MysqlOptions{.url = *std::move(parsed)}));
}

Result<Contents> CopiedStore::load_all() {
    auto contents = options_.shared->load_all();
    if (!contents) return contents;
    if (const auto error = options_.copy->replace_all(contents->overrides))
        options_.on_failure(*error);
    return contents;
}

// Removes first: another node may have removed the override and set it again, with a new id and
// order, which put() alone would not change in the copy.
Result<Stored> CopiedStore::put(const Override& entry) {
    auto stored = options_.shared->put(entry);
    if (!stored) return stored;
    if (const auto removed = options_.copy->remove(entry.key()); !removed)
        options_.on_failure(removed.error());
    if (const auto copied = options_.copy->put(stored->entry); !copied)
        options_.on_failure(copied.error());
    return stored;
}

Result<Removed> CopiedStore::remove(const OverrideKey& key) {
    auto removed = options_.shared->remove(key);
    if (!removed) return removed;
    if (const auto copied = options_.copy->remove(key); !copied)
        options_.on_failure(copied.error());
    return removed;
}

}  // namespace sluice::overrides
