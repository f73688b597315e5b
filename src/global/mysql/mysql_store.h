// The regions' store in a MySQL or MariaDB.
#ifndef SLUICE_GLOBAL_MYSQL_MYSQL_STORE_H_
#define SLUICE_GLOBAL_MYSQL_MYSQL_STORE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "global/store.h"
#include "mysql/mysql_connection.h"

namespace sluice {

struct MysqlStoreOptions {
    MysqlOptions server;
    std::string region;  // ours: 1 to 48 bytes
};

// Writes are READ COMMITTED, and each is one statement. Times are the server's, so that all writers
// have one clock: a component's is that of the beginning of the statement that lifted it, which may
// become visible later by as long as a statement may take.
class MysqlStore final : public GlobalStore {
  public:
    explicit MysqlStore(MysqlStoreOptions options);

    std::optional<StoreFailure> publish(std::span<const RegionCount> rows) override;
    std::uint64_t connections() const override { return connections_; }
    StoreResult<ImportEnd> import(const ImportQuery& query, const Visit& visit) override;
    StoreResult<std::size_t> delete_expired(std::chrono::milliseconds min_age,
                                            std::size_t at_most) override;
    StoreResult<bool> claim(const std::string& work,
                            const std::string& holder,
                            std::chrono::milliseconds time) override;
    StoreResult<std::vector<GlobalListing>> list(std::span<const CellName> cells) override;
    void interrupt() override { connection_.interrupt(); }

  private:
    // Connects, and checks the schema, if that has not been done.
    std::optional<StoreFailure> make_ready();
    StoreResult<std::uint64_t> run(const std::string& statement);
    std::optional<StoreFailure> query(const std::string& statement,
                                      const MysqlConnection::Visit& visit);

    const std::string region_;
    MysqlConnection connection_;
    std::uint64_t connections_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_MYSQL_MYSQL_STORE_H_
