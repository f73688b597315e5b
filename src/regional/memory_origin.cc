#include "regional/memory_origin.h"

#include <utility>

#include "window/count.h"

namespace sluice {

class MemoryRegion::Node : public Origin {
  public:
    Node(std::shared_ptr<MemoryRegion> region, NodeId id) : region_(std::move(region)), id_(id) {}

    void read(std::vector<CellName> cells, Answered answered) override {
        std::vector<CellTotals> totals;
        totals.reserve(cells.size());
        for (const CellName& cell : cells)
            totals.push_back(region_->read(id_, cell));
        answered(std::move(totals));
    }

    void raise(std::vector<CellComponent> components, Answered answered) override {
        std::vector<CellTotals> totals;
        totals.reserve(components.size());
        for (const CellComponent& component : components)
            totals.push_back(region_->raise(id_, component));
        answered(std::move(totals));
    }

  private:
    const std::shared_ptr<MemoryRegion> region_;
    const NodeId id_;
};

std::shared_ptr<MemoryRegion> MemoryRegion::create() {
    return std::shared_ptr<MemoryRegion>(new MemoryRegion);
}

std::unique_ptr<Origin> MemoryRegion::join() {
    const MutexLock lock(mutex_);
    return std::make_unique<Node>(shared_from_this(), ++last_node_);
}

CellTotals MemoryRegion::read(NodeId node, const CellName& name) const {
    const MutexLock lock(mutex_);
    const auto cell = cells_.find(name);
    if (cell == cells_.end()) return {.total = 0, .own = 0};
    const auto own = cell->second.components.find(node);
    return {.total = cell->second.total,
            .own = own == cell->second.components.end() ? 0 : own->second};
}

CellTotals MemoryRegion::raise(NodeId node, const CellComponent& component) {
    const MutexLock lock(mutex_);
    Cell& cell = cells_[component.cell];
    Count& own = cell.components[node];
    if (component.own > own) {
        cell.total = saturating_add(cell.total, component.own - own);
        own = component.own;
    }
    return {.total = cell.total, .own = own};
}

void MemoryRegion::forget_dead(UnixTime now) {
    const MutexLock lock(mutex_);
    std::erase_if(cells_, [now](const auto& cell) {
        return is_dead(cell.first.sequence, cell.first.duration, now);
    });
}

std::size_t MemoryRegion::cells() const {
    const MutexLock lock(mutex_);
    return cells_.size();
}

}  // namespace sluice
