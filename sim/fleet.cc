#include "sim/fleet.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Moment kRecoveryPoll = milliseconds{250};
constexpr Moment kStalenessPoll = milliseconds{200};
constexpr Moment kWatchRecovery = seconds{150};
constexpr std::size_t kKeysWatched = 48;

}  // namespace

// Counts at the end of a fault.
struct Fleet::Snapshot {
    struct Cell {
        KeyIndex key;
        Sequence sequence;
        std::vector<Count> by_region;
    };
    std::size_t recovery;
    Moment began;
    std::vector<Cell> cells;
};

Fleet::Fleet(World& world, std::function<void(Moment)> progress)
    : world_(world),
      options_(world.options),
      progress_(std::move(progress)),
      arrivals_(world.options, world.truth, world.random.next()),
      current_(world.options.nodes),
      region_nodes_(world.options.regions),
      is_active_(world.options.faults.scheduled.size()),
      decided_over_time_(world.options.regions),
      decided_before_(world.options.regions) {
    for (std::uint32_t i = 0; i < options_.nodes; ++i) {
        region_nodes_[i % options_.regions].push_back(i);
        start_node(i);
    }
    schedule_faults();
    check_staleness();
}

void Fleet::start_node(std::uint32_t index) {
    const std::int64_t most = options_.faults.skew.count();
    const Moment skew{most == 0 ? 0 : world_.random.between(-most, most)};
    nodes_.push_back(std::make_unique<Node>(
        world_, Node::Place{index % options_.regions, index, ++last_serial_}, skew));
    current_[index] = nodes_.back().get();
}

Node* Fleet::choose_node(const Arrivals::Arrival& arrival) {
    const auto& nodes = region_nodes_[arrival.region];
    const std::size_t first = arrival.chance % nodes.size();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        Node* const node = current_[nodes[i == 0 ? first : (first + i) % nodes.size()]];
        if (node->takes_requests()) return node;
    }
    return nullptr;
}

void Fleet::each_alive(const Target& target, const std::function<void(Node&)>& act) {
    for (Node* const node : current_) {
        if (!node->is_alive()) continue;
        if (target.kind == Target::Kind::kRegion && node->place().region != target.index) continue;
        if (target.kind == Target::Kind::kNode && node->place().index != target.index) continue;
        act(*node);
    }
}

void Fleet::each_origin(const Target& target, const std::function<void(std::uint32_t)>& act) {
    for (std::uint32_t region = 0; region < options_.regions; ++region)
        if (target.kind != Target::Kind::kRegion || target.index == region) act(region);
}

// Prefetches what the next request needs: large runs are bound by memory latency.
void Fleet::prepare_next() {
    const Arrivals::Arrival& next = arrivals_.coming();
    world_.truth.prepare(next.key);
    if (const Node* const node = choose_node(next)) node->prepare(next.key);
}

void Fleet::serve_next() {
    const Arrivals::Arrival arrival = arrivals_.take();
    prepare_next();
    Node* const node = choose_node(arrival);
    if (node == nullptr) {
        ++unserved_;
        return;
    }
    if (!arrival.is_batch) return node->serve(arrival.key, arrival.cost);
    std::array<std::pair<KeyIndex, Count>, 4> batch;
    const std::size_t size = 2 + world_.random.below(3);
    batch[0] = {arrival.key, arrival.cost};
    for (std::size_t i = 1; i < size; ++i)
        batch[i] = {arrivals_.another_key(arrival), arrivals_.cost()};
    node->serve(std::span(batch).first(size));
}

void Fleet::sample() {
    const std::int64_t now = world_.true_ms();
    Permille fullest = 0;
    for (KeyIndex key = 0; key < std::min<std::size_t>(world_.truth.keys(), kKeysWatched); ++key) {
        const Count sum =
            world_.truth.key(key).trailing.sum_at(now, options_.load.duration.count());
        fullest = std::max(fullest, sum * 1'000 / std::max<Count>(options_.load.limit, 1));
    }
    over_time_.push_back(fullest);
    sample_decisions();
    if (progress_) progress_(world_.scheduler.now());
}

void Fleet::sample_decisions() {
    for (std::uint32_t region = 0; region < options_.regions; ++region) {
        const Node::Totals totals = totals_of(region);
        const Decided now{.passed = totals.audit.passed,
                          .denied = totals.audit.decisions - totals.audit.passed};
        Decided& before = decided_before_[region];
        decided_over_time_[region].push_back(
            {.passed = now.passed - before.passed, .denied = now.denied - before.denied});
        before = now;
    }
}

// Five times a second: origins hold, and regions know of each other, what the bounds require.
void Fleet::check_staleness() {
    const std::int64_t now = world_.true_ms();
    const Sequence newest = now / options_.load.duration.count();
    for (KeyIndex key = 0; key < std::min<std::size_t>(world_.truth.keys(), kKeysWatched); ++key)
        for (const Sequence sequence : {newest - 1, newest}) {
            for (std::uint32_t region = 0; region < options_.regions; ++region)
                check_flushed(region, key, sequence);
            for (Node* const node : current_)
                if (node->is_alive() && options_.regions > 1)
                    node->audit().check_staleness(key, sequence, now);
        }
    world_.scheduler.after(kStalenessPoll, [this] { check_staleness(); });
}

void Fleet::check_flushed(std::uint32_t region, KeyIndex key, Sequence sequence) {
    const Count expected =
        world_.expectations.origin_count(region, key, sequence, world_.true_ms());
    if (expected == 0) return;
    const Count held = world_.origins[region].total(key, sequence);
    if (held < expected)
        world_.failure.report("the origin of region-" + std::to_string(region + 1) + " holds " +
                              std::to_string(held) + " of k" + std::to_string(key) + " in window " +
                              std::to_string(sequence) + ", of which its nodes had admitted " +
                              std::to_string(expected) + " long enough ago");
}

void Fleet::run() {
    const Moment column = std::max<Moment>(options_.lasts / kColumns, Moment{1});
    Moment next_sample = column;
    while (arrivals_.next() < options_.lasts && !world_.failure.message()) {
        if (arrivals_.next() >= next_sample) {
            world_.scheduler.run_until(next_sample);
            sample();
            next_sample += column;
            continue;
        }
        world_.scheduler.run_until(arrivals_.next());
        serve_next();
    }
    if (world_.failure.message()) return;
    world_.scheduler.run_until(options_.lasts);
    sample();
    world_.truth.finish(world_.true_ms());
    settle_and_check();
}

void Fleet::watch_recovery(std::size_t fault) {
    recoveries_.push_back({.fault = fault, .region = std::nullopt, .world = std::nullopt});
    const auto snapshot = std::make_shared<Snapshot>();
    snapshot->recovery = recoveries_.size() - 1;
    snapshot->began = world_.scheduler.now();
    const Sequence now = world_.true_ms() / options_.load.duration.count();
    for (KeyIndex key = 0; key < std::min<std::size_t>(world_.truth.keys(), kKeysWatched); ++key) {
        for (const Sequence sequence : {now - 1, now}) {
            Snapshot::Cell cell{key, sequence, {}};
            for (std::uint32_t region = 0; region < options_.regions; ++region)
                cell.by_region.push_back(world_.truth.of_region(key, sequence, region));
            snapshot->cells.push_back(std::move(cell));
        }
    }
    poll_recovery(snapshot);
}

void Fleet::poll_recovery(const std::shared_ptr<Snapshot>& snapshot) {
    Recovery& recovery = recoveries_[snapshot->recovery];
    bool is_known = true;
    bool is_known_widely = true;
    for (const Snapshot::Cell& cell : snapshot->cells) {
        if (is_dead(cell.sequence, options_.load.duration, world_.wall())) continue;
        Count total = 0;
        for (std::uint32_t region = 0; region < options_.regions; ++region) {
            if (world_.truth.lost(cell.key, cell.sequence, region) != Truth::Lost::kNothing) {
                total = 0;
                break;
            }
            total += cell.by_region[region];
            is_known &=
                world_.origins[region].total(cell.key, cell.sequence) >= cell.by_region[region];
        }
        const bool is_publishable = std::ranges::any_of(
            cell.by_region, [&](Count spent) { return 2 * spent >= options_.load.limit; });
        if (total == 0 || (!is_publishable && !world_.store.holds(cell.key, cell.sequence)))
            continue;
        for (Node* const node : current_) {
            if (!node->is_alive()) continue;
            const Count foreign = total - cell.by_region[node->place().region];
            is_known_widely &= node->global(cell.key, cell.sequence).value_or(0) >= foreign;
        }
    }
    const Moment took = world_.scheduler.now() - snapshot->began;
    if (is_known && !recovery.region) recovery.region = took;
    if (is_known_widely && !recovery.world) recovery.world = took;
    if ((recovery.region && recovery.world) || took > kWatchRecovery) return;
    world_.scheduler.after(kRecoveryPoll, [this, snapshot] { poll_recovery(snapshot); });
}

Node::Totals Fleet::totals_of(std::uint32_t region) const {
    Node::Totals sum;
    for (const auto& node : nodes_) {
        if (node->place().region != region) continue;
        const Node::Totals one = node->totals();
        sum.audit.decisions += one.audit.decisions;
        sum.audit.passed += one.audit.passed;
        sum.audit.waits += one.audit.waits;
        sum.audit.fallbacks += one.audit.fallbacks;
        sum.audit.false_denials += one.audit.false_denials;
        sum.audit.true_denials += one.audit.true_denials;
        sum.calls += one.calls;
        sum.flushed += one.flushed;
        sum.rows += one.rows;
        sum.imported += one.imported;
        sum.outages += one.outages;
        sum.longest_wait = std::max(sum.longest_wait, one.longest_wait);
    }
    return sum;
}

}  // namespace sluice::sim
