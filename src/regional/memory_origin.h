// An origin in this process: several limiters act as one region.
#ifndef SLUICE_REGIONAL_MEMORY_ORIGIN_H_
#define SLUICE_REGIONAL_MEMORY_ORIGIN_H_

#include <sluice/time.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "regional/origin.h"

namespace sluice {

// MemoryRegion holds the cells of a region. Nodes hold it jointly; each joins once, and is a new
// node then. Their calls are answered before they return. A cell is forgotten when its lifetime is
// over.
//
// Thread-safe.
class MemoryRegion : public std::enable_shared_from_this<MemoryRegion> {
  public:
    using Clock = std::function<std::chrono::steady_clock::time_point()>;

    // `clock` tells when lifetimes end.
    static std::shared_ptr<MemoryRegion> create(Clock clock = std::chrono::steady_clock::now);

    // The region that all callers of this process share by that name, for as long as one of them
    // holds it.
    static std::shared_ptr<MemoryRegion> named(const std::string& name);

    std::unique_ptr<Origin> join();

    // Forgets all cells, as an origin does that restarts.
    void forget();

    std::size_t cells() const;

  private:
    class Node;
    using Owner = std::pair<std::uint64_t, Incarnation>;
    using Time = std::chrono::steady_clock::time_point;

    struct Cell {
        Count total = 0;
        std::map<Owner, Count> components;
        Time dies;
    };
    using Cells = std::map<CellName, Cell>;

    explicit MemoryRegion(Clock clock) : clock_(std::move(clock)) {}

    CellTotals read(std::uint64_t node, const CellQuestion& question) const;
    CellTotals raise(std::uint64_t node, const CellComponent& component);
    CellListing list(const CellName& cell) const;
    Cells::const_iterator find(const CellName& cell) const SLUICE_REQUIRES(mutex_);
    void forget_some_dead(Time now) SLUICE_REQUIRES(mutex_);

    const Clock clock_;
    mutable Mutex mutex_;
    std::uint64_t last_node_ SLUICE_GUARDED_BY(mutex_) = 0;
    Cells cells_ SLUICE_GUARDED_BY(mutex_);
    CellName hand_ SLUICE_GUARDED_BY(mutex_){};  // up to here was looked for dead cells
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_MEMORY_ORIGIN_H_
