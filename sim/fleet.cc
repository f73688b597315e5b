#include "sim/fleet.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::sim {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Moment kDownBetweenLives = seconds{2};
// Time for a last round of questions, at the end and while windows are short.
constexpr Moment kAnswers = seconds{3};
constexpr Moment kQuickAnswers = milliseconds{200};
// Shorter windows are over before there was time to recover from a fault.
constexpr Duration kShortWindow = seconds{60};
constexpr Moment kNoticesSilence = seconds{1};
constexpr Moment kLookAtRecovery = milliseconds{250};
constexpr Moment kWatchRecovery = seconds{150};
constexpr std::size_t kMostKeysChecked = 1'500;
constexpr std::size_t kKeysWatched = 48;

}  // namespace

// What had been granted when a fault ended.
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
      seats_(world.options.nodes),
      region_seats_(world.options.regions),
      is_active_(world.options.faults.scheduled.size()),
      answers_(kAnswers) {
    for (std::uint32_t i = 0; i < options_.nodes; ++i) {
        region_seats_[i % options_.regions].push_back(i);
        start_node(i);
    }
    schedule_faults();
    if (options_.regions > 1) check_staleness();
}

void Fleet::start_node(std::uint32_t index) {
    const std::int64_t most = options_.faults.skew.count();
    const Moment skew{most == 0 ? 0 : world_.random.between(-most, most)};
    nodes_.push_back(std::make_unique<Node>(
        world_, Node::Place{index % options_.regions, index, ++last_serial_}, skew));
    seats_[index] = nodes_.back().get();
}

Node* Fleet::choose_node(const Arrivals::Arrival& arrival) {
    const auto& seats = region_seats_[arrival.region];
    const std::size_t first = arrival.chance % seats.size();
    for (std::size_t i = 0; i < seats.size(); ++i) {
        Node* const node = seats_[seats[i == 0 ? first : (first + i) % seats.size()]];
        if (node->takes_requests()) return node;
    }
    return nullptr;
}

void Fleet::each_alive(const Target& target, const std::function<void(Node&)>& act) {
    for (Node* const node : seats_) {
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

void Fleet::schedule_faults() {
    for (std::size_t i = 0; i < options_.faults.scheduled.size(); ++i) {
        const Fault& fault = options_.faults.scheduled[i];
        world_.scheduler.at(fault.at, [this, i] { begin(i); });
        world_.scheduler.at(fault.at + fault.lasts, [this, i] { end(i); });
        const Moment then = std::max(fault.at - Moment{fault.amount}, Moment{0});
        if (fault.kind == FaultKind::kStoreFailover)
            world_.scheduler.at(then, [this, i] { earlier_stores_[i] = world_.store.contents(); });
        if (fault.kind != FaultKind::kOriginStale) continue;
        world_.scheduler.at(then, [this, i] {
            for (const OriginServer& origin : world_.origins)
                earlier_[i].push_back(origin.contents());
        });
    }
}

void Fleet::begin(std::size_t index) {
    if (is_over_) return;
    const Fault& fault = options_.faults.scheduled[index];
    world_.note(Happening::kFaultBegins, static_cast<std::uint32_t>(index));
    is_active_[index] = true;
    switch (fault.kind) {
        case FaultKind::kOriginDown:
            each_origin(fault.target, [&](std::uint32_t region) {
                world_.origins[region].is_down = true;
                each_alive({Target::Kind::kRegion, region},
                           [](Node& node) { node.origin().disconnect("it is down"); });
            });
            return;
        case FaultKind::kOriginSlow:
            each_origin(fault.target, [&](std::uint32_t region) {
                world_.origins[region].slowness = Moment{fault.amount};
            });
            return;
        case FaultKind::kOriginEmpty:
            return each_origin(fault.target, [&](std::uint32_t region) { empty_origin(region); });
        case FaultKind::kOriginStale:
            return each_origin(fault.target, [&](std::uint32_t region) {
                fail_over(region, earlier_[index].at(region));
            });
        case FaultKind::kStoreDown:
            world_.store.is_down = true;
            return;
        case FaultKind::kStoreSlow:
            world_.store.slowness = Moment{fault.amount};
            return;
        case FaultKind::kStoreBusy:
            world_.store.busy = static_cast<Permille>(fault.amount);
            return;
        case FaultKind::kStoreLag:
            world_.store.lag = Moment{fault.amount};
            return;
        case FaultKind::kStoreFailover:
            return fail_over_store(earlier_stores_[index]);
        case FaultKind::kStoreClock:
            world_.store.clock_error = Moment{fault.amount};
            return;
        case FaultKind::kStoreCleanup: {
            const StoreServer::Contents before = world_.store.contents();
            world_.store.clean_up(Moment{fault.amount});
            return note_lost_rows(before);
        }
        case FaultKind::kPartition:
            return partition(fault.target, true);
        case FaultKind::kCrash:
            each_alive(fault.target, [](Node& node) { node.crash(); });
            return;
        case FaultKind::kRestart:
            each_alive(fault.target,
                       [&](Node& node) { restart(node.place().index, kDownBetweenLives); });
            return;
        case FaultKind::kRollingRestart:
            return restart_all(Moment{fault.amount});
        case FaultKind::kClockStep:
            each_alive(fault.target, [&](Node& node) { node.step_clock(Moment{fault.amount}); });
            return;
        case FaultKind::kPause:
            each_alive(fault.target, [&](Node& node) { node.pause_until(fault.at + fault.lasts); });
            return;
        case FaultKind::kBurst:
            arrivals_.burst = static_cast<Permille>(fault.amount);
            return;
    }
}

void Fleet::end(std::size_t index) {
    if (!is_active_[index]) return;
    const Fault& fault = options_.faults.scheduled[index];
    world_.note(Happening::kFaultEnds, static_cast<std::uint32_t>(index));
    is_active_[index] = false;
    switch (fault.kind) {
        case FaultKind::kOriginDown:
            each_origin(fault.target,
                        [&](std::uint32_t region) { world_.origins[region].is_down = false; });
            break;
        case FaultKind::kOriginSlow:
            each_origin(fault.target,
                        [&](std::uint32_t region) { world_.origins[region].slowness = Moment{0}; });
            break;
        case FaultKind::kStoreDown:
            world_.store.is_down = false;
            break;
        case FaultKind::kStoreSlow:
            world_.store.slowness = Moment{0};
            break;
        case FaultKind::kStoreBusy:
            world_.store.busy = 0;
            break;
        case FaultKind::kStoreLag:
            world_.store.lag = Moment{0};
            break;
        case FaultKind::kStoreClock:
            world_.store.clock_error = Moment{0};
            break;
        case FaultKind::kPartition:
            partition(fault.target, false);
            break;
        case FaultKind::kCrash:
            for (std::uint32_t i = 0; i < seats_.size(); ++i)
                if (!seats_[i]->is_alive()) start_node(i);
            break;
        case FaultKind::kBurst:
            arrivals_.burst = 1'000;
            break;
        default:
            break;
    }
    if (!is_over_) watch_recovery(index);
}

void Fleet::note_lost_components(std::uint32_t region, const OriginServer::Contents& kept) {
    OriginServer after(world_.scheduler);
    after.become(kept);
    const auto lives = [&](Serial serial) {
        return std::ranges::any_of(seats_, [&](const Node* node) {
            return node->place().serial == serial && node->is_alive();
        });
    };
    for (const auto& held : world_.origins[region].contents().keys) {
        for (const OriginServer::Cell& cell : held.cells) {
            for (const OriginServer::Component& one : cell.components) {
                if (lives(one.node)) continue;
                if (after.component(one.node, held.key, cell.sequence, one.incarnation) < one.count)
                    world_.truth.lose(held.key, cell.sequence, region, Truth::Lost::kToRegion);
            }
        }
    }
}

// Nodes that are connected notice within a second, or when they hear less than they told.
void Fleet::empty_origin(std::uint32_t region) {
    note_lost_components(region, {});
    world_.origins[region].become({});
    ++world_.origins[region].losses;
    each_alive({Target::Kind::kRegion, region}, [&](Node& node) {
        const Moment later = milliseconds{world_.random.between(1, 1'000)};
        world_.scheduler.after(later, [&node] { node.origin().forgot(); });
    });
}

void Fleet::fail_over(std::uint32_t region, const OriginServer::Contents& earlier) {
    note_lost_components(region, earlier);
    world_.origins[region].become(earlier);
    ++world_.origins[region].losses;
    each_alive({Target::Kind::kRegion, region},
               [](Node& node) { node.origin().disconnect("it fails over"); });
}

void Fleet::fail_over_store(const StoreServer::Contents& earlier) {
    const StoreServer::Contents before = world_.store.contents();
    world_.store.fail_over(earlier);
    note_lost_rows(before);
}

// A row that the store lost comes back from a node that has published it and lives. Where there is
// none, other regions hear of it when its cell next grows.
void Fleet::note_lost_rows(const StoreServer::Contents& before) {
    for (const auto& [name, cell] : before.cells) {
        const auto [key, sequence] = name;
        for (std::uint32_t region = 0; region < options_.regions; ++region) {
            const Count count = cell.components[region].count;
            if (world_.store.component(key, sequence, region) >= count) continue;
            const bool is_known = std::ranges::any_of(seats_, [&](const Node* node) {
                return node->is_alive() && node->place().region == region &&
                       node->audit().has_published(key, sequence, count);
            });
            if (!is_known) world_.truth.lose(key, sequence, region, Truth::Lost::kToOthers);
        }
    }
}

void Fleet::partition(const Target& target, bool is_cut) {
    each_alive(target.kind == Target::Kind::kStore ? Target{} : target, [&](Node& node) {
        node.is_cut_from_store = is_cut;
        if (target.kind != Target::Kind::kNode) return;
        node.origin().is_cut = is_cut;
        if (!is_cut) return;
        world_.scheduler.after(kNoticesSilence, [&node] {
            if (node.origin().is_cut) node.origin().disconnect("it does not answer");
        });
    });
}

void Fleet::restart(std::uint32_t index, Moment down) {
    seats_[index]->close([this, index, down] {
        world_.scheduler.after(down, [this, index] {
            if (!seats_[index]->is_alive()) start_node(index);
        });
    });
}

void Fleet::restart_all(Moment apart) {
    for (std::uint32_t i = 0; i < seats_.size(); ++i) {
        world_.scheduler.after(static_cast<std::int64_t>(i) * apart, [this, i] {
            if (!is_over_ && seats_[i]->is_alive()) restart(i, kDownBetweenLives);
        });
    }
}

// Most of a large run is waiting for memory: what the next request needs is fetched meanwhile.
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
    if (progress_) progress_(world_.scheduler.now());
}

// Every second: what regions must know of each other by then, they do.
void Fleet::check_staleness() {
    const std::int64_t now = world_.true_ms();
    const Sequence newest = now / options_.load.duration.count();
    for (KeyIndex key = 0; key < std::min<std::size_t>(world_.truth.keys(), kKeysWatched); ++key)
        for (const Sequence sequence : {newest - 1, newest})
            for (Node* const node : seats_)
                if (node->is_alive()) node->audit().check_staleness(key, sequence, now);
    world_.scheduler.after(seconds{1}, [this] { check_staleness(); });
}

void Fleet::run() {
    const Moment column = std::max<Moment>(options_.lasts / kColumns, Moment{1});
    Moment next_sample = column;
    while (arrivals_.next() < options_.lasts && !world_.verdict.failure()) {
        if (arrivals_.next() >= next_sample) {
            world_.scheduler.run_until(next_sample);
            sample();
            next_sample += column;
            continue;
        }
        world_.scheduler.run_until(arrivals_.next());
        serve_next();
    }
    if (world_.verdict.failure()) return;
    world_.scheduler.run_until(options_.lasts);
    sample();
    world_.truth.finish(world_.true_ms());
    calm_down();
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
    look_at_recovery(snapshot);
}

void Fleet::look_at_recovery(const std::shared_ptr<Snapshot>& snapshot) {
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
        const bool is_news = std::ranges::any_of(
            cell.by_region, [&](Count spent) { return 2 * spent >= options_.load.limit; });
        if (total == 0 || (!is_news && !world_.store.holds(cell.key, cell.sequence))) continue;
        for (Node* const node : seats_) {
            if (!node->is_alive()) continue;
            const Count foreign = total - cell.by_region[node->place().region];
            is_known_widely &= node->global(cell.key, cell.sequence).value_or(0) >= foreign;
        }
    }
    const Moment took = world_.scheduler.now() - snapshot->began;
    if (is_known && !recovery.region) recovery.region = took;
    if (is_known_widely && !recovery.world) recovery.world = took;
    if ((recovery.region && recovery.world) || took > kWatchRecovery) return;
    world_.scheduler.after(kLookAtRecovery, [this, snapshot] { look_at_recovery(snapshot); });
}

// All faults end, nobody asks any more, and there is time to hear of everything.
void Fleet::calm_down() {
    is_over_ = true;
    for (std::size_t i = 0; i < is_active_.size(); ++i)
        end(i);
    world_.network = {.delay = FaultPlan{}.delay, .jitter = FaultPlan{}.jitter};
    Moment last_pause{0};
    for (const Fault& fault : options_.faults.scheduled)
        if (fault.kind == FaultKind::kPause)
            last_pause = std::max(last_pause, fault.at + fault.lasts);
    wait_until(last_pause);
    for (std::uint32_t i = 0; i < seats_.size(); ++i)
        if (!seats_[i]->is_alive()) start_node(i);
    const Moment calm = world_.scheduler.now();
    wait_until(calm + kTimeToSettle);
    check_convergence(Scope::kRegion);
    if (options_.load.duration < kShortWindow) check_short_windows();
    int intervals = intervals_to_converge(FaultKind::kStoreDown);
    for (const Fault& fault : options_.faults.scheduled)
        intervals = std::max(intervals, intervals_to_converge(fault.kind));
    wait_until(calm + intervals * longest_between_ticks(options_.interval));
    check_convergence(Scope::kWorld);
}

// Short windows in which a fault struck are over by now. In new ones, all nodes of a region agree
// as soon as the last grant must have been told.
void Fleet::check_short_windows() {
    constexpr int kRequests = 240;
    const Duration window = options_.load.duration;
    const Instant now = instant_at(world_.wall(), window);
    // Until a quarter of the window after the next one.
    const Moment lasts = 2 * window - now.elapsed + window / 4;
    for (int i = 0; i < kRequests && !world_.verdict.failure(); ++i) {
        world_.scheduler.run_until(world_.scheduler.now() + lasts / kRequests);
        const auto key = static_cast<KeyIndex>(world_.random.below(world_.truth.keys()));
        seats_[world_.random.below(seats_.size())]->serve(key, 1);
    }
    wait_until(world_.scheduler.now() + longest_untold(window));
    answers_ = kQuickAnswers;
    check_convergence(Scope::kRegion);
    answers_ = kAnswers;
}

void Fleet::wait_until(Moment when) {
    while (world_.scheduler.now() < when && !world_.verdict.failure())
        world_.scheduler.run_until(std::min(when, world_.scheduler.now() + seconds{1}));
}

std::vector<KeyIndex> Fleet::keys_to_check() const {
    std::vector<KeyIndex> keys;
    const std::size_t stride = world_.truth.keys() / kMostKeysChecked + 1;
    for (std::size_t key = 0; key < world_.truth.keys(); key += stride)
        keys.push_back(static_cast<KeyIndex>(key));
    return keys;
}

void Fleet::check_convergence(Scope scope) {
    if (world_.verdict.failure()) return;
    const std::vector<KeyIndex> keys = keys_to_check();
    // What the last questions bring to light may be published, too late to be heard of.
    published_.clear();
    displaced_.clear();
    for (const KeyIndex key : keys) {
        for (const Sequence sequence : living()) {
            if (world_.store.holds(key, sequence)) published_.emplace(key, sequence);
            for (std::uint32_t region = 0; region < options_.regions; ++region)
                if (is_displaced(key, sequence, region)) displaced_.emplace(key, sequence, region);
        }
    }
    std::vector<std::vector<KeyIndex>> held(seats_.size());
    for (std::size_t i = 0; i < seats_.size(); ++i) {
        for (const KeyIndex key : keys)
            if (seats_[i]->audit().holds(key)) held[i].push_back(key);
        seats_[i]->refresh(held[i]);
    }
    world_.scheduler.run_until(world_.scheduler.now() + answers_);
    for (Node* const node : seats_)
        node->check_calm();
    // After a clock has stepped, what is read depends on who asks when.
    if (options_.faults.has(FaultKind::kClockStep)) return;
    for (std::uint32_t region = 0; region < options_.regions; ++region)
        check_origin(region, keys);
    for (std::size_t i = 0; i < seats_.size(); ++i)
        for (const KeyIndex key : held[i])
            check_view(*seats_[i], key, scope);
}

std::vector<Sequence> Fleet::living() const {
    const auto wrong = duration_cast<Duration>(options_.faults.skew + 2 * answers_);
    const UnixTime now = world_.wall() + wrong;
    const Sequence newest = world_.true_ms() / options_.load.duration.count();
    std::vector<Sequence> sequences;
    for (Sequence sequence = newest - 2; sequence <= newest + 1; ++sequence)
        if (!is_dead(sequence, options_.load.duration, now)) sequences.push_back(sequence);
    return sequences;
}

// The origin holds what callers were told, no more and no less.
void Fleet::check_origin(std::uint32_t region, const std::vector<KeyIndex>& keys) {
    for (const auto& node : nodes_)
        if (node->place().region == region && node->audit().has_dropped()) return;
    for (const KeyIndex key : keys) {
        for (const Sequence sequence : living()) {
            const Count held = world_.origins[region].total(key, sequence);
            const Count spent = world_.truth.of_region(key, sequence, region);
            const bool is_lossy =
                world_.truth.lost(key, sequence, region) == Truth::Lost::kToRegion;
            if (held > spent || (held < spent && !is_lossy))
                world_.verdict.fail("the origin of region-" + std::to_string(region + 1) +
                                    " holds " + std::to_string(held) + " of k" +
                                    std::to_string(key) + " in window " + std::to_string(sequence) +
                                    ", of which its nodes granted " + std::to_string(spent));
        }
    }
}

// Whether nodes of the region displaced the cell, and none of the others has heard of all of it.
bool Fleet::is_displaced(KeyIndex key, Sequence sequence, std::uint32_t region) const {
    const Count spent = world_.truth.of_region(key, sequence, region);
    bool is_displaced = false;
    for (const std::uint32_t index : region_seats_[region]) {
        const Audit& audit = seats_[index]->audit();
        if (audit.regional(key, sequence) >= spent) return false;
        is_displaced |= audit.has_displaced(key, sequence);
    }
    return is_displaced;
}

void Fleet::check_view(Node& node, KeyIndex key, Scope scope) {
    for (const Sequence sequence : living()) {
        bool is_wanted = published_.contains({key, sequence});
        bool is_displaced = false;
        for (std::uint32_t region = 0; region < options_.regions; ++region) {
            const Count spent = world_.truth.of_region(key, sequence, region);
            is_wanted |= spent != 0 && 2 * spent >= options_.load.limit &&
                         world_.truth.lost(key, sequence, region) == Truth::Lost::kNothing;
            is_displaced |=
                region != node.place().region && displaced_.contains({key, sequence, region});
        }
        node.audit().check_converged(key,
                                     sequence,
                                     {.node_time = node.wall() - duration_cast<Duration>(answers_),
                                      .is_shared_widely = is_wanted && scope == Scope::kWorld,
                                      .may_be_unpublished = is_displaced});
        ++checked_views_;
    }
}

Node::Totals Fleet::totals_of(std::uint32_t region) const {
    Node::Totals sum;
    for (const auto& node : nodes_) {
        if (node->place().region != region) continue;
        const Node::Totals one = node->totals();
        sum.audit.decisions += one.audit.decisions;
        sum.audit.passed += one.audit.passed;
        sum.audit.asked += one.audit.asked;
        sum.audit.fallbacks += one.audit.fallbacks;
        sum.audit.false_denials += one.audit.false_denials;
        sum.audit.true_denials += one.audit.true_denials;
        sum.reads += one.reads;
        sum.told += one.told;
        sum.rows += one.rows;
        sum.imported += one.imported;
        sum.outages += one.outages;
        sum.longest_wait = std::max(sum.longest_wait, one.longest_wait);
    }
    return sum;
}

}  // namespace sluice::sim
