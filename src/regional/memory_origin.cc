#include "regional/memory_origin.h"

#include <algorithm>

#include "regional/origin.h"
#include "window/cell.h"

namespace sluice {
namespace {

// Cells that are checked for expiry with each new one: more than one, so that expired cells can't
// outnumber live ones for long.
constexpr int kChecksPerCell = 4;

std::string name_of_node(std::uint64_t node) {
    return "node-" + std::to_string(node);
}

// Collects `answer(key)` of each key.
template <class Answer, class Keys, class AnswerKey>
std::vector<Answer> for_each_key(const Keys& keys, AnswerKey answer) {
    std::vector<Answer> answers;
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
        synced(for_each_key<KeyAnswer>(
            keys, [&](const KeyComponents& key) { return region_->sync(id_, key); }));
    }

    void spend(std::vector<KeySpend> keys, Spent spent) override {
        spent(for_each_key<SpendAnswer>(
            keys, [&](const KeySpend& key) { return region_->spend(id_, key); }));
    }

    void heartbeat(HeartbeatDone done) override { done(region_->heartbeat(id_)); }

    void list(std::vector<CellName> cells, Listed listed) override {
        listed(for_each_key<std::optional<CellListing>>(
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
    const KeyTotals held = lift(node, key, now);
    const Cell* const cell = find(key.current, now);
    if (cell != nullptr && cell->counts.is_superseded({node, key.incarnation}))
        return {.totals = held, .granted = std::vector<bool>(spend.requests.size())};
    KeyGrants grants = decide_at_origin(spend, held);
    CellComponent granted = cells_of(key)[0];
    granted.own = grants.totals[0].own;
    granted.peers = 0;  // they may have read what is credit now
    lift({node, key.incarnation}, granted, now);
    return grants;
}

CellListing MemoryRegion::list(const CellName& name) {
    const MutexLock lock(mutex_);
    const Time now = clock_();
    const Cell* const cell = find(name, now);
    if (cell == nullptr) return {};
    CellListing listing{.total = cell->counts.spent(),
                        .components = {},
                        .lifetime = std::chrono::duration_cast<Duration>(cell->expires - now)};
    for (const auto& [owner, count] : cell->counts.components())
        listing.components.push_back(
            {owner_name(name_of_node(owner.node), owner.incarnation), count});
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
    const OriginCell::Owner owner{node, key.incarnation};
    const auto [current, previous] = cells_of(key);
    return {lift(owner, current, now), lift(owner, previous, now)};
}

CellTotals MemoryRegion::lift(const OriginCell::Owner& owner,
                              const CellComponent& component,
                              Time now) {
    if (component.lifetime > Duration::zero() && (component.own > 0 || component.peers > 0)) {
        Cell& cell = find_or_create(component.cell, now);
        cell.expires = std::max(cell.expires, now + component.lifetime);
        return cell.counts.lift(owner, component);
    }
    const Cell* const cell = find(component.cell, now);
    return cell == nullptr ? CellTotals{} : cell->counts.read(owner);
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
