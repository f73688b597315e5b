// The regions' store in a MySQL or MariaDB.
#ifndef SLUICE_GLOBAL_MYSQL_MYSQL_GLOBAL_STORE_H_
#define SLUICE_GLOBAL_MYSQL_MYSQL_GLOBAL_STORE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "global/mysql/count_statements.h"
#include "global/store.h"
#include "mysql/mysql_connection.h"

namespace sluice {

struct MysqlGlobalOptions {
    MysqlOptions server;
    std::string region;  // ours: 1 to 48 bytes
    // A publish that can't be committed within this time of its beginning is rolled back.
    std::chrono::milliseconds commit_within = kMaxCommitDelay;
    // For how long after a publish was lost its rows may be published again: until it can't be
    // committed any more, and two intervals of publishing.
    std::chrono::milliseconds retry_period = kMaxCommitDelay + std::chrono::seconds{20};
};

// Writes are READ COMMITTED, and each is one statement. Times are the server's, so that all writers
// have one clock.
//
// A component's updated_at lies between the beginning and the end of the statement that lifted it,
// which may wait for locks. So a publish is committed by a call of its own, and only if its
// statement has been answered in time: one that was given up, or whose client has died, is rolled
// back when the connection ends, however long the server goes on with it.
class MysqlGlobalStore final : public GlobalStore {
  public:
    explicit MysqlGlobalStore(MysqlGlobalOptions options);

    StoreResult<PublishEnd> publish(std::span<const RegionCount> rows, const Visit& visit) override;
    StoreResult<PublishEnd> read(std::span<const RegionCount> rows, const Visit& visit) override;
    std::uint64_t connections() const override { return connections_; }
    StoreResult<ImportEnd> import(const ImportQuery& query, const Visit& visit) override;
    StoreResult<std::size_t> delete_expired(std::chrono::milliseconds min_age,
                                            std::size_t at_most) override;
    StoreResult<std::vector<GlobalListing>> list(std::span<const CellName> cells) override;
    void interrupt() override { connection_.interrupt(); }

  private:
    // How the session's transactions end: by a COMMIT, or each with its statement.
    enum class CommitMode { kManual, kAutomatic };

    // Connects, and checks the schema, if that has not been done, and sets the mode.
    std::optional<StoreFailure> make_ready(CommitMode mode = CommitMode::kAutomatic);
    std::optional<StoreFailure> connect();
    std::optional<StoreFailure> run_on_connection(const std::string& statement);
    Stamp stamp() const;
    std::optional<StoreFailure> run_and_commit(const std::string& statement);
    std::optional<MysqlFailure> read_most_bytes();
    std::optional<StoreFailure> lift(std::span<const RegionCount> rows,
                                     const Visit& visit,
                                     PublishEnd& end);
    std::optional<StoreFailure> lift_in_halves(std::span<const RegionCount> rows,
                                               const Visit& visit,
                                               PublishEnd& end);
    void end_transaction();
    bool fits(const std::string& statement) const;
    std::optional<StoreFailure> read_components(std::span<const RegionCount> rows,
                                                const Visit& visit,
                                                PublishEnd& end);
    StoreResult<std::uint64_t> run(const std::string& statement);
    std::optional<StoreFailure> query(const std::string& statement,
                                      const MysqlConnection::Visit& visit);

    const std::string region_;
    const std::chrono::milliseconds commit_within_;
    const std::chrono::milliseconds retry_period_;
    MysqlConnection connection_;
    std::uint64_t connections_ = 0;
    CommitMode mode_ = CommitMode::kAutomatic;  // of the session
    // When a publish was last lost: it may have been committed, or will be, with the stamps of
    // then.
    std::optional<std::chrono::steady_clock::time_point> last_loss_;
    std::size_t most_bytes_ = 0;  // that the server takes in a statement
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_MYSQL_MYSQL_GLOBAL_STORE_H_
