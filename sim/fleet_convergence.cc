// The end of a run: all faults have ended, and all counts must converge.
#include <algorithm>

#include "sim/fleet.h"

namespace sluice::sim {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Time for the final reads where windows are short.
constexpr Moment kShortSyncTime = milliseconds{200};
// Shorter windows are over before there was time to recover from a fault.
constexpr Duration kShortWindow = seconds{60};
constexpr std::size_t kMostKeysChecked = 1'500;

}  // namespace

// Ends all faults, waits until all counts must have converged, and checks them.
void Fleet::settle_and_check() {
    is_over_ = true;
    for (std::size_t i = 0; i < is_active_.size(); ++i)
        end(i);
    world_.network = {.delay = FaultPlan{}.delay, .jitter = FaultPlan{}.jitter};
    Moment last_pause{0};
    for (const Fault& fault : options_.faults.scheduled)
        if (fault.kind == FaultKind::kPause)
            last_pause = std::max(last_pause, fault.at + fault.lasts);
    wait_until(last_pause);
    for (std::uint32_t i = 0; i < current_.size(); ++i)
        if (!current_[i]->is_alive()) start_node(i);
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

// Short windows with faults have ended by now. In new windows, all nodes of a region agree as soon
// as the last pass must have been flushed.
void Fleet::check_short_windows() {
    constexpr int kRequests = 240;
    const Duration window = options_.load.duration;
    const Instant now = instant_at(world_.wall(), window);
    // Until a quarter of the window after the next one.
    const Moment lasts = 2 * window - now.elapsed + window / 4;
    for (int i = 0; i < kRequests && !world_.failure.message(); ++i) {
        world_.scheduler.run_until(world_.scheduler.now() + lasts / kRequests);
        const auto key = static_cast<KeyIndex>(world_.random.below(world_.truth.keys()));
        current_[world_.random.below(current_.size())]->serve(key, 1);
    }
    wait_until(world_.scheduler.now() + longest_unsynced(window, FaultPlan{}.longest_call()));
    const Moment usual = std::exchange(sync_time_, kShortSyncTime);
    check_convergence(Scope::kRegion);
    sync_time_ = usual;
}

void Fleet::wait_until(Moment when) {
    while (world_.scheduler.now() < when && !world_.failure.message())
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
    if (world_.failure.message()) return;
    const std::vector<KeyIndex> keys = keys_to_check();
    // Counts that the final reads discover may be published too late to be imported.
    published_.clear();
    displaced_.clear();
    for (const KeyIndex key : keys) {
        for (const Sequence sequence : live_sequences()) {
            if (world_.store.holds(key, sequence)) published_.emplace(key, sequence);
            for (std::uint32_t region = 0; region < options_.regions; ++region)
                if (is_displaced(key, sequence, region)) displaced_.emplace(key, sequence, region);
        }
    }
    std::vector<std::vector<KeyIndex>> held(current_.size());
    for (std::size_t i = 0; i < current_.size(); ++i) {
        for (const KeyIndex key : keys)
            if (current_[i]->audit().holds(key)) held[i].push_back(key);
        current_[i]->sync(held[i]);
    }
    world_.scheduler.run_until(world_.scheduler.now() + sync_time_);
    for (Node* const node : current_)
        node->check_settled();
    // After a clock step, what is read depends on which node reads when.
    if (options_.faults.has(FaultKind::kClockStep)) return;
    for (std::uint32_t region = 0; region < options_.regions; ++region)
        check_origin(region, keys);
    for (std::size_t i = 0; i < current_.size(); ++i)
        for (const KeyIndex key : held[i])
            check_view(*current_[i], key, scope);
}

std::vector<Sequence> Fleet::live_sequences() const {
    const auto wrong = duration_cast<Duration>(options_.faults.skew + 2 * sync_time_);
    const UnixTime now = world_.wall() + wrong;
    const Sequence newest = world_.true_ms() / options_.load.duration.count();
    std::vector<Sequence> sequences;
    for (Sequence sequence = newest - 2; sequence <= newest + 1; ++sequence)
        if (!is_dead(sequence, options_.load.duration, now)) sequences.push_back(sequence);
    return sequences;
}

// The origin holds at least what was admitted, unless the entry was evicted before it was flushed,
// and at most that plus unused grants.
void Fleet::check_origin(std::uint32_t region, const std::vector<KeyIndex>& keys) {
    for (const KeyIndex key : keys) {
        for (const Sequence sequence : live_sequences()) {
            const Count held = world_.origins[region].total(key, sequence);
            const Count spent = world_.truth.of_region(key, sequence, region);
            const Count reserved = world_.truth.reserved(key, sequence, region);
            const bool is_lossy =
                world_.truth.lost(key, sequence, region) == Truth::Lost::kToRegion ||
                std::ranges::any_of(nodes_, [&](const auto& node) {
                    return node->place().region == region &&
                           node->audit().evicted_unsynced() != 0 &&
                           node->audit().has_displaced(key, sequence);
                });
            if (held > reserved || (held < spent && !is_lossy))
                world_.failure.report(
                    "the origin of region-" + std::to_string(region + 1) + " holds " +
                    std::to_string(held) + " of k" + std::to_string(key) + " in window " +
                    std::to_string(sequence) + ", of which its nodes admitted " +
                    std::to_string(spent) + " and were granted " + std::to_string(reserved));
        }
    }
}

// Whether nodes of the region evicted the cell and none of their peers has read all of it.
bool Fleet::is_displaced(KeyIndex key, Sequence sequence, std::uint32_t region) const {
    const Count spent = world_.truth.of_region(key, sequence, region);
    bool is_displaced = false;
    for (const std::uint32_t index : region_nodes_[region]) {
        const Audit& audit = current_[index]->audit();
        if (audit.regional(key, sequence) >= spent) return false;
        is_displaced |= audit.has_displaced(key, sequence);
    }
    return is_displaced;
}

void Fleet::check_view(Node& node, KeyIndex key, Scope scope) {
    for (const Sequence sequence : live_sequences()) {
        bool is_wanted = published_.contains({key, sequence});
        bool is_displaced = false;
        for (std::uint32_t region = 0; region < options_.regions; ++region) {
            const Count spent = world_.truth.of_region(key, sequence, region);
            is_wanted |= spent != 0 && 2 * spent >= options_.load.limit &&
                         world_.truth.lost(key, sequence, region) == Truth::Lost::kNothing;
            is_displaced |=
                region != node.place().region && displaced_.contains({key, sequence, region});
        }
        node.audit().check_converged(
            key,
            sequence,
            {.node_time = node.wall() - duration_cast<Duration>(sync_time_),
             .is_shared_widely = is_wanted && scope == Scope::kWorld,
             .may_be_unpublished = is_displaced});
        ++checked_views_;
    }
}

}  // namespace sluice::sim
