// The store that nodes share: opening it by its URL, and keeping a local copy of it.
#include <optional>
#include <string_view>
#include <vector>

#include "mysql/mysql_connection.h"
#include "overrides/stores.h"
#include "url/mysql_url.h"

namespace sluice::overrides {
namespace {

// Thread-compatible, but for interrupt().
class CopiedStore final : public OverrideStore {
  public:
    explicit CopiedStore(CopiedStoreOptions options) : options_(std::move(options)) {}

    Result<std::uint64_t> version() override { return options_.shared->version(); }
    void interrupt() override { options_.shared->interrupt(); }

    Result<Contents> load_all() override {
        auto contents = options_.shared->load_all();
        if (!contents) return contents;
        if (const auto error = options_.copy->replace_all(contents->overrides))
            options_.on_failure(*error);
        return contents;
    }

    // Removes first: another node may have removed the override and set it again, with a new id and
    // order, which put() alone would not change in the copy.
    Result<Stored> put(const Override& entry, const std::optional<Author>& author) override {
        auto stored = options_.shared->put(entry, author);
        if (!stored) return stored;
        copied(options_.copy->remove(entry.key(), std::nullopt));
        copied(options_.copy->put(stored->entry, std::nullopt));
        return stored;
    }

    Result<Removed> remove(const OverrideKey& key, const std::optional<Author>& author) override {
        auto removed = options_.shared->remove(key, author);
        if (removed) copied(options_.copy->remove(key, std::nullopt));
        return removed;
    }

    Result<std::vector<Change>> changes(const ChangeQuery& query) override {
        return options_.shared->changes(query);
    }

  private:
    template <class T>
    void copied(const Result<T>& outcome) {
        if (!outcome) options_.on_failure(outcome.error());
    }

    const CopiedStoreOptions options_;
};

}  // namespace

std::unique_ptr<OverrideStore> make_copied_store(CopiedStoreOptions options) {
    return std::make_unique<CopiedStore>(std::move(options));
}

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
    return make_mysql_store({.url = *std::move(parsed)});
}

}  // namespace sluice::overrides
