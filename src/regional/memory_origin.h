// An origin in the memory of this process, for several limiters that act as one region.
#ifndef SLUICE_REGIONAL_MEMORY_ORIGIN_H_
#define SLUICE_REGIONAL_MEMORY_ORIGIN_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "regional/origin.h"
#include "regional/origin_cell.h"

namespace sluice {

// MemoryRegion holds the cells of a region. Nodes hold it jointly; each joins once, and is a new
// node then. Their calls are answered before they return. A cell is dropped when its lifetime is
// over. A node is counted from its first heartbeat until kNodeLifetime after its last one, or until
// it is destroyed.
//
// Thread-safe.
class MemoryRegion : public std::enable_shared_from_this<MemoryRegion> {
  public:
    using Clock = std::function<std::chrono::steady_clock::time_point()>;

    // `clock` decides when the lifetimes of cells and nodes end.
    static std::shared_ptr<MemoryRegion> create(Clock clock = std::chrono::steady_clock::now);

    // The region of that name, shared by all callers in this process while one of them holds it.
    static std::shared_ptr<MemoryRegion> named(const std::string& name);

    std::unique_ptr<Origin> join();

    // Drops all cells and heartbeats, like the restart of an origin without persistence.
    void forget();

    std::size_t cells() const;

  private:
    class Node;
    using NodeId = OriginCell::NodeId;
    using Time = std::chrono::steady_clock::time_point;

    struct Cell {
        OriginCell counts;
        Time expires;
    };
    using Cells = std::map<CellName, Cell>;

    explicit MemoryRegion(Clock clock) : clock_(std::move(clock)) {}

    KeyTotals sync(NodeId node, const KeyComponents& key);
    KeyGrants spend(NodeId node, const KeySpend& spend);
    CellListing list(const CellName& name);
    Heartbeat heartbeat(NodeId node);
    std::vector<NodeNote> leave_note(NodeId node, std::string note);
    void leave(NodeId node);

    // None if it does not exist or has expired.
    Cell* find(const CellName& name, Time now) SLUICE_REQUIRES(mutex_);
    Cell& find_or_create(const CellName& name, Time now) SLUICE_REQUIRES(mutex_);
    KeyTotals lift(NodeId node, const KeyComponents& key, Time now) SLUICE_REQUIRES(mutex_);
    CellTotals lift(const OriginCell::Owner& owner, const CellComponent& component, Time now)
        SLUICE_REQUIRES(mutex_);
    void drop_some_expired(Time now) SLUICE_REQUIRES(mutex_);

    const Clock clock_;
    mutable Mutex mutex_;
    NodeId last_node_ SLUICE_GUARDED_BY(mutex_) = 0;
    std::map<NodeId, Time> heartbeats_ SLUICE_GUARDED_BY(mutex_);  // the last one of each node
    struct Note {
        Time left;
        std::string text;
    };
    std::map<NodeId, Note> notes_ SLUICE_GUARDED_BY(mutex_);
    Cells cells_ SLUICE_GUARDED_BY(mutex_);
    CellName hand_ SLUICE_GUARDED_BY(mutex_){};  // the last cell that was checked for expiry
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_MEMORY_ORIGIN_H_
