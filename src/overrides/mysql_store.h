// A store of overrides in a MySQL or MariaDB that nodes share.
#ifndef SLUICE_OVERRIDES_MYSQL_STORE_H_
#define SLUICE_OVERRIDES_MYSQL_STORE_H_

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "mysql/mysql_connection.h"
#include "overrides/store.h"

namespace sluice::overrides {

// The tables are those of src/mysql/mysql_schema.cc. Each change first locks the row that holds the
// version: changes are serialised, and an override's order is that of their commits.
//
// After a lost connection, calls fail at once for a second.
//
// Thread-compatible, but for interrupt().
class MysqlOverrideStore final : public OverrideStore {
  public:
    explicit MysqlOverrideStore(MysqlOptions options) : connection_(std::move(options)) {}

    Result<std::uint64_t> version() override;
    Result<Contents> load_all() override;
    Result<Stored> put(const Override& entry) override;
    Result<Removed> remove(const OverrideKey& key) override;
    void interrupt() override { connection_.interrupt(); }

  private:
    using Clock = std::chrono::steady_clock;

    // Connects and checks the schema, unless that has been done.
    [[nodiscard]] std::optional<Error> make_ready();
    Error failed(const MysqlFailure& failure);
    [[nodiscard]] std::optional<Error> run(const std::string& sql);
    [[nodiscard]] std::optional<Error> query(const std::string& sql,
                                             const MysqlConnection::Visit& visit);
    Result<std::uint64_t> read_version();
    // Begins the transaction of a change, and locks the version.
    [[nodiscard]] std::optional<Error> begin();
    // Ends the transaction after an error, and returns the error.
    Error rolled_back(Error error);

    MysqlConnection connection_;
    // The connection was lost with this error, and is not made again before retry_at_.
    std::optional<Error> lost_;
    Clock::time_point retry_at_{};
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_MYSQL_STORE_H_
