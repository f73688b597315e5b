// The regions' store in an SQLite file, for processes of one machine.
#ifndef SLUICE_GLOBAL_SQLITE_SQLITE_GLOBAL_STORE_H_
#define SLUICE_GLOBAL_SQLITE_SQLITE_GLOBAL_STORE_H_

#include <sluice/result.h>
#include <sluice/time.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "global/store.h"
#include "sqlite/database.h"

namespace sluice {

struct SqliteGlobalOptions {
    std::string path;    // is created if it doesn't exist; its folder must
    std::string region;  // ours
    // How long to wait for another process that writes.
    std::chrono::milliseconds busy_timeout{2000};
    std::function<UnixTime()> now = exact_wall_time;  // the store's clock; replaced by tests
};

// Any number of processes of one machine may use the file at once. A new, empty file gets its
// tables with the first call; an older one is refused until `sluice migrate` has been run, and a
// newer one, or another program's, for good.
class SqliteGlobalStore final : public GlobalStore {
  public:
    explicit SqliteGlobalStore(SqliteGlobalOptions options);
    ~SqliteGlobalStore() override;

    StoreResult<PublishEnd> publish(std::span<const RegionCount> rows, const Visit& visit) override;
    StoreResult<PublishEnd> read(std::span<const RegionCount> rows, const Visit& visit) override;
    std::uint64_t connections() const override { return connections_; }
    StoreResult<ImportEnd> import(const ImportQuery& query, const Visit& visit) override;
    StoreResult<std::size_t> delete_expired(std::chrono::milliseconds min_age,
                                            std::size_t at_most) override;
    StoreResult<std::vector<GlobalListing>> list(std::span<const CellName> cells) override;
    void interrupt() override;

  private:
    // Opens the file, and checks its tables, if that has not been done.
    std::optional<StoreFailure> make_ready();
    void close();
    bool is_interrupted();
    // Of a call that SQLite answered with `code`; without one, of the call just made.
    StoreFailure failure(int code, Error error);
    StoreFailure failure(Error error);

    // All on a file that is open.
    std::optional<StoreFailure> lift_all(std::span<const RegionCount> rows);
    std::optional<StoreFailure> mark_region();
    StoreResult<GlobalListing> list_one(const CellName& cell);
    // Runs the statement and shows each row of its answer.
    template <class Bind, class Show>
    std::optional<StoreFailure> run(std::string_view sql, Bind bind, Show show);

    const SqliteGlobalOptions options_;
    std::optional<sqlite::Database> database_;
    bool is_broken_ = false;  // the next call opens it anew
    std::uint64_t connections_ = 0;

    Mutex mutex_;
    sqlite::Database* underway_ SLUICE_GUARDED_BY(mutex_) = nullptr;  // database_, while it is open
    bool interrupted_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_SQLITE_SQLITE_GLOBAL_STORE_H_
