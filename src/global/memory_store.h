// A global store in the memory of this process, for tests, simulation, and limiters of one process.
#ifndef SLUICE_GLOBAL_MEMORY_STORE_H_
#define SLUICE_GLOBAL_MEMORY_STORE_H_

#include <sluice/time.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "global/store.h"

namespace sluice {

// What the regions share. Thread-safe.
class MemoryWorld : public std::enable_shared_from_this<MemoryWorld> {
  public:
    // `clock` is the store's own.
    static std::shared_ptr<MemoryWorld> create(std::function<UnixTime()> clock);
    // The one of that name in this process, with the system's clock; made if there is none.
    static std::shared_ptr<MemoryWorld> named(const std::string& name);

    // A region's connection, which keeps the world alive.
    std::unique_ptr<GlobalStore> join(const std::string& region);

    struct Component {
        Count count;
        UnixTime updated_at;
    };
    using Components = std::map<std::string, Component>;  // by region
    using Cells = std::map<CellName, Components>;
    // A copy of all cells.
    Cells held() const;
    // Replaces all cells, as a failover to a stale replica does. All connections are made again.
    void restore(Cells cells);

  private:
    class Connection;
    explicit MemoryWorld(std::function<UnixTime()> clock) : clock_(std::move(clock)) {}

    // When a component last changed, but not after the present.
    std::optional<UnixTime> last_stamp() const SLUICE_REQUIRES(mutex_);
    // The first cell that a full import's page may hold.
    Cells::const_iterator first_of(const ImportQuery& query) const SLUICE_REQUIRES(mutex_);
    // The page after that of a full, or of an incremental import.
    std::optional<ImportQuery> rest_of_cells(ImportQuery query) const SLUICE_REQUIRES(mutex_);
    std::optional<ImportQuery> rest_of_changes(ImportQuery query) const SLUICE_REQUIRES(mutex_);

    const std::function<UnixTime()> clock_;
    mutable Mutex mutex_;
    Cells cells_ SLUICE_GUARDED_BY(mutex_);
    std::map<std::string, UnixTime> seen_ SLUICE_GUARDED_BY(mutex_);  // regions, and when
    std::uint64_t connections_ SLUICE_GUARDED_BY(mutex_) = 1;         // of each region
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_MEMORY_STORE_H_
