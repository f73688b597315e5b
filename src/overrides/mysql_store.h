// A store in a MySQL or MariaDB that nodes share.
#ifndef SLUICE_OVERRIDES_MYSQL_STORE_H_
#define SLUICE_OVERRIDES_MYSQL_STORE_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "mysql/mysql_connection.h"
#include "overrides/store.h"

namespace sluice::overrides {

// The tables are those of src/mysql/mysql_schema.cc. Each change first takes the row that holds the
// version: changes come one after the other, and an override's order is that of their commits.
//
// A server that did not answer is not asked again for a second: what waits fails with it, at once.
//
// Thread-compatible, but for interrupt().
class MysqlStore final : public OverrideStore {
  public:
    explicit MysqlStore(MysqlOptions options) : connection_(std::move(options)) {}

    Result<std::uint64_t> version() override;
    Result<Contents> load_all() override;
    Result<Stored> put(const Override& entry) override;
    Result<Removed> remove(const OverrideKey& key) override;
    void interrupt() override { connection_.interrupt(); }

  private:
    using Clock = std::chrono::steady_clock;

    // Connects, and checks the schema, if that has not been done.
    [[nodiscard]] std::optional<Error> make_ready();
    Error failed(const MysqlFailure& failure);
    [[nodiscard]] std::optional<Error> run(const std::string& sql);
    [[nodiscard]] std::optional<Error> query(const std::string& sql,
                                             const MysqlConnection::Visit& visit);
    Result<std::uint64_t> read_version();
    // What a change takes first.
    [[nodiscard]] std::optional<Error> begin();
    // After an error in the midst of a change.
    Error undone(Error error);

    MysqlConnection connection_;
    // Until then the server is taken for away.
    Clock::time_point rests_until_{};
    std::optional<Error> last_;
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_MYSQL_STORE_H_
