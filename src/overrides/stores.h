// The stores of overrides: an SQLite file of one process, a database that nodes share, and a local
// copy of such a database.
#ifndef SLUICE_OVERRIDES_STORES_H_
#define SLUICE_OVERRIDES_STORES_H_

#include <sluice/result.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "overrides/store.h"
#include "sqlite/database.h"

namespace sluice {
struct MysqlOptions;
}

namespace sluice::overrides {

// The override in a row of both databases: pk, id, workspace, namespace, identifier, limit,
// duration.
template <class Row>
Override override_in(const Row& row) {
    return {.workspace = std::string(row.bytes(2)),
            .name_space = std::string(row.bytes(3)),
            .identifier = std::string(row.bytes(4)),
            .id = std::string(row.bytes(1)),
            .value = {.limit = row.number(5), .duration = std::chrono::milliseconds{row.number(6)}},
            .order = static_cast<std::uint64_t>(row.number(0))};
}

// The change in a row of both databases: pk, at_ms, token, workspace, namespace, identifier, id,
// and the limits and durations before and after, where -1 is none.
template <class Row>
Change change_in(const Row& row) {
    const auto value = [&](int limit) -> std::optional<LimitAndDuration> {
        if (row.number(limit) < 0) return std::nullopt;
        return LimitAndDuration{.limit = row.number(limit),
                                .duration = std::chrono::milliseconds{row.number(limit + 1)}};
    };
    return {.author = {.token = std::string(row.bytes(2)), .at = row.number(1)},
            .workspace = std::string(row.bytes(3)),
            .name_space = std::string(row.bytes(4)),
            .identifier = std::string(row.bytes(5)),
            .id = std::string(row.bytes(6)),
            .before = value(7),
            .after = value(9),
            .order = static_cast<std::uint64_t>(row.number(0))};
}

struct SqliteOverrideOptions {
    std::string path;  // is created if it doesn't exist; its folder must
    // kAlone: locks the file for as long as the store lives; a second process that opens it fails.
    // kShared: the file may also hold the global counts.
    sqlite::Use use = sqlite::Use::kAlone;
    // How long to wait for another process to release the file.
    std::chrono::milliseconds busy_timeout{1000};
    std::int64_t max_bytes = std::int64_t{1} << 30;  // largest size of a file of one process
};

// What put() and remove() have answered survives a crash of the process and of the machine. A store
// of one process keeps the order that it is given; a shared one chooses its own.
//
// Thread-compatible.
class SqliteOverrideStore final : public OverrideStore {
  public:
    // The first call opens the file.
    explicit SqliteOverrideStore(SqliteOverrideOptions options) : options_(std::move(options)) {}
    // Opens the file at once.
    static Result<std::unique_ptr<SqliteOverrideStore>> open(SqliteOverrideOptions options);

    Result<std::uint64_t> version() override;
    Result<Contents> load_all() override;
    Result<Stored> put(const Override& entry, const std::optional<Author>& author) override;
    Result<Removed> remove(const OverrideKey& key, const std::optional<Author>& author) override;
    Result<std::vector<Change>> changes(const ChangeQuery& query) override;

    // Replaces all overrides by these, with their orders. Only for a store of one process.
    [[nodiscard]] std::optional<Error> replace_all(const std::vector<Override>& overrides);

  private:
    // Opens the file and checks its tables, unless that has been done.
    [[nodiscard]] std::optional<Error> make_ready();
    Result<std::uint64_t> read_version();
    // Runs `act` in a transaction. Returns the version, which has grown if a row has changed.
    Result<std::uint64_t> change(const std::function<std::optional<Error>()>& act);
    [[nodiscard]] std::optional<Error> put_row(sqlite::Statement& put, Override& entry);
    // The override that is stored under a key, if there is one.
    Result<std::optional<Override>> find_row(const OverrideKey& key);
    [[nodiscard]] std::optional<Error> keep(const Change& change);
    // The error of the last call: kStoreUnavailable where another process held the file.
    Error failed(Error error) const;

    const SqliteOverrideOptions options_;
    std::optional<sqlite::Database> database_;
};

// A store in a MySQL or MariaDB that nodes share. The first call connects; after a lost connection,
// calls fail at once for a second.
std::unique_ptr<OverrideStore> make_mysql_store(MysqlOptions options);

// The store in the database that holds the global counts: mysql://... or sqlite:PATH. An
// unreachable database is not an error here; the calls to the store report it.
Result<std::unique_ptr<OverrideStore>> open_shared_store(const std::string& url);

// A shared store, and a copy of its contents on this machine for the time that it is unavailable.
// All calls go to the shared store; what they read and wrote is kept in `copy`. A copy that can't
// be written does not fail the call: `on_failure` is called, on the caller's thread.
struct CopiedStoreOptions {
    std::unique_ptr<OverrideStore> shared;
    std::unique_ptr<SqliteOverrideStore> copy;
    std::function<void(const Error&)> on_failure;
};
std::unique_ptr<OverrideStore> make_copied_store(CopiedStoreOptions options);

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_STORES_H_
