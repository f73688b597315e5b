// An origin in this process: several limiters act as one region.
#ifndef SLUICE_REGIONAL_MEMORY_ORIGIN_H_
#define SLUICE_REGIONAL_MEMORY_ORIGIN_H_

#include <sluice/time.h>

#include <cstdint>
#include <map>
#include <memory>

#include "base/mutex.h"
#include "regional/origin.h"

namespace sluice {

// MemoryRegion holds the cells of a region. Nodes hold it jointly; each joins once, and is a new
// node then. Their calls are answered before they return.
//
// Thread-safe.
class MemoryRegion : public std::enable_shared_from_this<MemoryRegion> {
  public:
    static std::shared_ptr<MemoryRegion> create();

    std::unique_ptr<Origin> join();

    // Forgets the cells that can't matter at `now` or later.
    void forget_dead(UnixTime now);

    std::size_t cells() const;

  private:
    class Node;
    using NodeId = std::uint64_t;

    struct Cell {
        Count total = 0;
        std::map<NodeId, Count> components;
    };

    MemoryRegion() = default;

    CellTotals read(NodeId node, const CellName& name) const;
    CellTotals raise(NodeId node, const CellComponent& component);

    mutable Mutex mutex_;
    NodeId last_node_ SLUICE_GUARDED_BY(mutex_) = 0;
    std::map<CellName, Cell> cells_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_MEMORY_ORIGIN_H_
