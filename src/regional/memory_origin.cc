#include "regional/memory_origin.h"

#include <algorithm>

#include "regional/origin.h"
#include "window/cell.h"

namespace sluice {
namespace {

// Cells that are checked for expiry with each new one: more than one, so that expired cells can't
// outnumber live ones for long.
constexpr int kChecksPerCell = 4;

// Nodes that join count from 1.
constexpr std::uint64_t kStopped = 0;

std::string name_of_node(std::uint64_t node) {
    return node == kStopped ? kStoppedNodes : "node-" + std::to_string(node);
}

// Collects `answer(key)` of each key.
template <class Answer, class Keys, class AnswerKey>
std::vector<std::optional<Answer>> for_each_key(const Keys& keys, AnswerKey answer) {
    std::vector<std::optional<Answer>> answers;
    answers.reserve(keys.size());
    for (const auto& key : keys)
        answers.emplace_back(answer(key));
    return answers;
}

}  // namespace

// Owned by one thread.
class MemoryRegion::Node : public Origin {
  public:
    Node(std::shared_ptr<MemoryRegion> region, NodeId id) : region_(std::move(region)), id_(id) {}
    ~Node() override { region_->leave(id_); }
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    void start(OriginEvents events) override {
        if (events.available) events.available(true);
    }

    void sync(std::vector<KeyComponents> keys, Synced synced) override {
        synced(for_each_key<KeyTotals>(
            keys, [&](const KeyComponents& key) { return region_->sync(id_, key); }));
    }

    void spend(std::vector<KeySpend> keys, Spent spent) override {
        spent(for_each_key<KeyGrants>(
            keys, [&](const KeySpend& key) { return region_->spend(id_, key); }));
    }

    void heartbeat(HeartbeatDone done) override { done(region_->heartbeat(id_)); }

    void retire(std::vector<KeyComponents> keys, Synced synced) override {
        synced(for_each_key<KeyTotals>(
            keys, [&](const KeyComponents& key) { return region_->retire(id_, key); }));
    }

    void list(std::vector<CellName> cells, Listed listed) override {
        listed(for_each_key<CellListing>(
            cells, [&](const CellName& cell) { return region_->list(cell); }));
    }

    void leave_note(std::string note, NotesRead read) override {
        auto notes = region_->leave_note(id_, std::move(note));
        if (read) read(std::move(notes));
    }

    std::string node() const override { return name_of_node(id_); }

  private:
    const std::shared_ptr<MemoryRegion> region_;
    const NodeId id_;
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

KeyTotals MemoryRegion::sync(NodeId node, const KeyComponents& key) {
    const MutexLock lock(mutex_);
    return lift(node, key, clock_());
}

KeyGrants MemoryRegion::spend(NodeId node, const KeySpend& spend) {
    const MutexLock lock(mutex_);
    const Time now = clock_();
    const KeyComponents& key = spend.components;
    KeyGrants grants = decide_at_origin(spend, lift(node, key, now));
    const CellComponent granted{
        .cell = key.current, .own = grants.totals[0].own, .lifetime = key.lifetime};
    lift({node, key.incarnation}, granted, now);
    return grants;
}

KeyTotals MemoryRegion::retire(NodeId node, const KeyComponents& key) {
    const MutexLock lock(mutex_);
    const Time now = clock_();
    const Owner owner{node, key.incarnation};
    const auto [current, previous] = cells_of(key);
    return {move_to_stopped(owner, current.cell, now), move_to_stopped(owner, previous.cell, now)};
}

CellListing MemoryRegion::list(const CellName& name) {
    const MutexLock lock(mutex_);
    const Time now = clock_();
    const Cell* const cell = find(name, now);
    if (cell == nullptr) return {};
    CellListing listing{.total = cell->total,
                        .components = {},
                        .lifetime = std::chrono::duration_cast<Duration>(cell->expires - now)};
    for (const auto& [owner, count] : cell->components)
        listing.components.push_back({owner_name(name_of_node(owner.first), owner.second), count});
    return listing;
}

Heartbeat MemoryRegion::heartbeat(NodeId node) {
    const MutexLock lock(mutex_);
    const Time now = clock_();
    std::erase_if(heartbeats_,
                  [&](const auto& last) { return now - last.second >= kNodeLifetime; });
    const bool has_joined = heartbeats_.insert_or_assign(node, now).second;
    return {.nodes = static_cast<std::uint32_t>(heartbeats_.size()), .has_joined = has_joined};
}

std::vector<NodeNote> MemoryRegion::leave_note(NodeId node, std::string note) {
    const MutexLock lock(mutex_);
    const Time now = clock_();
    notes_[node] = {now, std::move(note)};
    std::erase_if(notes_,
                  [&](const auto& each) { return now - each.second.left >= kNodeLifetime; });
    std::vector<NodeNote> notes;
    for (const auto& [id, each] : notes_)
        notes.push_back({.node = name_of_node(id),
                         .age = std::chrono::duration_cast<Duration>(now - each.left),
                         .text = each.text});
    return notes;
}

void MemoryRegion::leave(NodeId node) {
    const MutexLock lock(mutex_);
    notes_.erase(node);
    heartbeats_.erase(node);
}

MemoryRegion::Cell* MemoryRegion::find(const CellName& name, Time now) {
    const auto found = cells_.find(name);
    return found == cells_.end() || found->second.expires <= now ? nullptr : &found->second;
}

MemoryRegion::Cell& MemoryRegion::find_or_create(const CellName& name, Time now) {
    if (Cell* const cell = find(name, now)) return *cell;
    drop_some_expired(now);
    return cells_.insert_or_assign(name, Cell{}).first->second;
}

KeyTotals MemoryRegion::lift(NodeId node, const KeyComponents& key, Time now) {
    const Owner owner{node, key.incarnation};
    const auto [current, previous] = cells_of(key);
    return {lift(owner, current, now), lift(owner, previous, now)};
}

CellTotals MemoryRegion::lift(const Owner& owner, const CellComponent& component, Time now) {
    if (component.own > 0 && component.lifetime > Duration::zero()) {
        Cell& cell = find_or_create(component.cell, now);
        cell.expires = std::max(cell.expires, now + component.lifetime);
        Count& count = cell.components[owner];
        if (component.own > count) {
            cell.total = saturating_add(cell.total, component.own - count);
            count = component.own;
        }
        return {.total = cell.total, .own = count};
    }
    const Cell* const cell = find(component.cell, now);
    if (cell == nullptr) return {};
    const auto own = cell->components.find(owner);
    return {.total = cell->total, .own = own == cell->components.end() ? 0 : own->second};
}

CellTotals MemoryRegion::move_to_stopped(const Owner& owner, const CellName& name, Time now) {
    Cell* const cell = find(name, now);
    if (cell == nullptr) return {};
    const auto own = cell->components.find(owner);
    if (own != cell->components.end()) {
        Count& stopped = cell->components[{kStopped, 0}];
        stopped = saturating_add(stopped, own->second);
        cell->components.erase(own);
    }
    return {.total = cell->total, .own = 0};
}

void MemoryRegion::drop_some_expired(Time now) {
    auto next = cells_.upper_bound(hand_);
    for (int i = 0; i < kChecksPerCell; ++i) {
        if (next == cells_.end()) {
            hand_ = {};
            return;
        }
        hand_ = next->first;
        next = next->second.expires <= now ? cells_.erase(next) : std::next(next);
    }
}

void MemoryRegion::forget() {
    const MutexLock lock(mutex_);
    cells_.clear();
    heartbeats_.clear();
    notes_.clear();
}

std::size_t MemoryRegion::cells() const {
    const MutexLock lock(mutex_);
    return cells_.size();
}

}  // namespace sluice
