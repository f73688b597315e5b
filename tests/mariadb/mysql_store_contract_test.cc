// The contract of GlobalStore, for MariaDB.
#include "global/mysql/mysql_global_store.h"
#include "mysql/mysql_connection.h"
#include "support/mariadb_server.h"
#include "support/store_contract.h"

namespace sluice::mariadb_test {
namespace {

using global_test::StoreContract;
using global_test::StoreKit;

// One server for all tests of this program, with a database for each test.
MariadbServer& shared_server() {
    static MariadbServer server;
    return server;
}

class MariadbKit final : public StoreKit {
  public:
    std::unique_ptr<GlobalStore> open(const std::string& region) override {
        return std::make_unique<MysqlGlobalStore>(
            MysqlGlobalOptions{.server = {.url = url_}, .region = region});
    }
    UnixTime now() override {
        return UnixTime{
            std::chrono::milliseconds{shared_server().number("SELECT " + std::string(kSqlNow))}};
    }
    // The server's clock can't be set, so the timestamps of its rows are moved back instead.
    void pass(std::chrono::milliseconds time) override {
        const std::string earlier = " - (" + std::to_string(time.count()) + ")";
        const std::string database = url_.database;
        shared_server().run("UPDATE " + database +
                            ".ratelimit_window_counts SET updated_at = updated_at" + earlier);
        shared_server().run("UPDATE " + database + ".ratelimit_regions SET seen_at = seen_at" +
                            earlier);
    }

  private:
    MysqlUrl url_ = shared_server().make_store();
};

std::unique_ptr<StoreKit> make_mariadb_kit() {
    return std::make_unique<MariadbKit>();
}

INSTANTIATE_TEST_SUITE_P(Mariadb, StoreContract, testing::Values(make_mariadb_kit));

}  // namespace
}  // namespace sluice::mariadb_test
