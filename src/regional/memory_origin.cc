#include "regional/memory_origin.h"

#include <algorithm>
#include <utility>

#include "window/count.h"

namespace sluice {
namespace {

// Cells that each new one is looked through for dead ones: more than one, so that the dead can't
// outgrow the living.
constexpr int kLooksPerCell = 4;

std::string name_of_node(std::uint64_t node) {
    return "node-" + std::to_string(node);
}

}  // namespace

class MemoryRegion::Node : public Origin {
  public:
    Node(std::shared_ptr<MemoryRegion> region, std::uint64_t id)
        : region_(std::move(region)), id_(id) {}

    void start(OriginEvents events) override {
        if (events.back) events.back(true);
    }

    void read(std::vector<CellQuestion> cells, Answered answered) override {
        std::vector<CellAnswer> answers;
        answers.reserve(cells.size());
        for (const CellQuestion& cell : cells)
            answers.emplace_back(region_->read(id_, cell));
        answered(std::move(answers));
    }

    void raise(std::vector<CellComponent> components, Answered answered) override {
        std::vector<CellAnswer> answers;
        answers.reserve(components.size());
        for (const CellComponent& component : components)
            answers.emplace_back(region_->raise(id_, component));
        answered(std::move(answers));
    }

    void list(std::vector<CellName> cells, Listed listed) override {
        std::vector<std::optional<CellListing>> listings;
        listings.reserve(cells.size());
        for (const CellName& cell : cells)
            listings.emplace_back(region_->list(cell));
        listed(std::move(listings));
    }

    std::string node() const override { return name_of_node(id_); }

  private:
    const std::shared_ptr<MemoryRegion> region_;
    const std::uint64_t id_;
};

std::shared_ptr<MemoryRegion> MemoryRegion::create(Clock clock) {
    return std::shared_ptr<MemoryRegion>(new MemoryRegion(std::move(clock)));
}

std::shared_ptr<MemoryRegion> MemoryRegion::named(const std::string& name) {
    static Mutex mutex;
    static std::map<std::string, std::weak_ptr<MemoryRegion>> regions;
    const MutexLock lock(mutex);
    std::erase_if(regions, [](const auto& region) { return region.second.expired(); });
    auto region = regions[name].lock();
    if (region == nullptr) {
        region = create();
        regions[name] = region;
    }
    return region;
}

std::unique_ptr<Origin> MemoryRegion::join() {
    const MutexLock lock(mutex_);
    return std::make_unique<Node>(shared_from_this(), ++last_node_);
}

MemoryRegion::Cells::const_iterator MemoryRegion::find(const CellName& cell) const {
    const auto found = cells_.find(cell);
    return found == cells_.end() || found->second.dies <= clock_() ? cells_.end() : found;
}

CellTotals MemoryRegion::read(std::uint64_t node, const CellQuestion& question) const {
    const MutexLock lock(mutex_);
    const auto cell = find(question.cell);
    if (cell == cells_.end()) return {.total = 0, .own = 0};
    const auto own = cell->second.components.find({node, question.incarnation});
    return {.total = cell->second.total,
            .own = own == cell->second.components.end() ? 0 : own->second};
}

CellTotals MemoryRegion::raise(std::uint64_t node, const CellComponent& component) {
    const MutexLock lock(mutex_);
    const Time now = clock_();
    auto cell = cells_.find(component.cell);
    if (cell != cells_.end() && cell->second.dies <= now) {
        cells_.erase(cell);
        cell = cells_.end();
    }
    if (cell == cells_.end()) {
        if (component.own == 0) return {.total = 0, .own = 0};
        forget_some_dead(now);
        cell = cells_.emplace(component.cell, Cell{}).first;
    }
    Cell& held = cell->second;
    held.dies = std::max(held.dies, now + component.lifetime);
    const Owner owner{node, component.incarnation};
    const auto found = held.components.find(owner);
    const Count before = found == held.components.end() ? 0 : found->second;
    if (component.own <= before) return {.total = held.total, .own = before};
    held.components[owner] = component.own;
    held.total = saturating_add(held.total, component.own - before);
    return {.total = held.total, .own = component.own};
}

CellListing MemoryRegion::list(const CellName& cell) const {
    const MutexLock lock(mutex_);
    const auto found = find(cell);
    if (found == cells_.end()) return {};
    CellListing listing{
        .total = found->second.total,
        .components = {},
        .lifetime = std::chrono::duration_cast<Duration>(found->second.dies - clock_())};
    for (const auto& [owner, count] : found->second.components)
        listing.components.push_back({owner_name(name_of_node(owner.first), owner.second), count});
    return listing;
}

void MemoryRegion::forget_some_dead(Time now) {
    auto next = cells_.upper_bound(hand_);
    for (int i = 0; i < kLooksPerCell; ++i) {
        if (next == cells_.end()) {
            hand_ = {};
            return;
        }
        hand_ = next->first;
        next = next->second.dies <= now ? cells_.erase(next) : std::next(next);
    }
}

void MemoryRegion::forget() {
    const MutexLock lock(mutex_);
    cells_.clear();
}

std::size_t MemoryRegion::cells() const {
    const MutexLock lock(mutex_);
    return cells_.size();
}

}  // namespace sluice
