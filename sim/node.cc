#include "sim/node.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "counter/epoch.h"
#include "service/pending_decision.h"

namespace sluice::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// The delay until another thread starts a task.
constexpr Moment kThreadHandover = microseconds{20};

// How long close() waits until everything is flushed and published, and how often it checks.
constexpr Moment kCloseTimeout = seconds{1};
constexpr Moment kClosePoll = milliseconds{20};

PublishPolicy policy_named(const std::string& name) {
    for (const NamedPolicy& policy : publish_policies())
        if (policy.name == name) return policy.policy;
    SLUICE_CHECK(false);
    return nullptr;
}

}  // namespace

// Reports each decision to the audit when it is made, which may be before the caller receives it.
class Node::AuditedDecision final : public PendingDecision {
  public:
    AuditedDecision(Node& node,
                    std::shared_ptr<PendingDecision> inner,
                    std::vector<Audit::DecisionRecord> records)
        : node_(node),
          inner_(std::move(inner)),
          records_(std::move(records)),
          asked_(node.world_.scheduler.now()) {}

    Kind kind() const override { return inner_->kind(); }
    std::span<const Request> stale() const override { return inner_->stale(); }
    UnixTime now() const override { return inner_->now(); }
    std::size_t size() const override { return inner_->size(); }
    bool decide_by_rule() override {
        const bool is_unavailable = node_.region_->is_unavailable();
        if (!inner_->try_decide()) {
            has_waited_ = true;
            return false;
        }
        note(is_unavailable ? DecidedBy::kLocalUnavailable : DecidedBy::kLocal);
        return true;
    }
    bool decide_from_counts() override {
        const bool needs_sync = *inner_->decide_now();
        note(DecidedBy::kLocalAfterWait);
        return needs_sync;
    }
    void decide_by_grant(const Grant& grant) override {
        inner_->accept_grant(grant);
        note(DecidedBy::kOrigin);
    }
    void deliver() override {
        --node_.waiting_;
        const Moment waited = node_.world_.scheduler.now() - asked_;
        node_.longest_wait_ = std::max(node_.longest_wait_, waited);
        if (waited > kOriginTimeout + kThreadHandover && asked_ > node_.process_.paused_until)
            node_.world_.failure.report("node-" + std::to_string(node_.place_.serial) +
                                        ": a caller waited for " + seconds_text(waited));
    }

    // Receives the decision of the wrapped one.
    struct Answer {
        std::optional<Result<Decision>> single;
        std::optional<Result<BatchDecision>> batch;
    };
    std::shared_ptr<Answer> answer;

  private:
    void note(DecidedBy by) {
        inner_->finish();
        for (Audit::DecisionRecord& each : records_) {
            each.by = by;
            each.true_ms = node_.world_.true_ms();
            each.has_waited = has_waited_;
        }
        const bool passed = answer->single ? (**answer->single).passed : (**answer->batch).passed;
        node_.world_.note(by == DecidedBy::kOrigin ? TraceKind::kGranted
                          : passed                 ? TraceKind::kPassed
                                                   : TraceKind::kDenied,
                          node_.place_.serial,
                          records_.front().key,
                          records_.front().cost);
        if (answer->single) {
            node_.audit_->decided(records_.front(), **answer->single);
        } else {
            node_.audit_->decided(records_, **answer->batch);
        }
    }

    Node& node_;
    const std::shared_ptr<PendingDecision> inner_;
    std::vector<Audit::DecisionRecord> records_;
    const Moment asked_;
    bool has_waited_ = false;
};

Node::Node(World& world, Place place, Moment skew) : world_(world), place_(place), skew_(skew) {
    const Options& options = world.options;
    table_ = *Table::create(
        {.max_keys = options.max_keys, .sharing = Sharing::kShared, .seed = world.random.next()});
    audit_ = std::make_unique<Audit>(
        Audit::Config{.name = "node-" + std::to_string(place.serial),
                      .region = place.region,
                      .serial = place.serial,
                      .max_keys = options.max_keys,
                      .has_steps = options.faults.has(FaultKind::kClockStep),
                      .has_far_steps = world.expectations.has_far_steps(),
                      .has_duplicates = options.faults.duplicate != 0,
                      .share_parts = options.share_parts.value_or(kAuditedShareParts),
                      .started_ms = world.true_ms()},
        world.truth,
        world.expectations,
        world.members[place.region],
        world.failure,
        *table_,
        options.load);
    origin_ = std::make_unique<OriginConnection>(
        world, OriginConnection::Place{place.region, place.serial}, process_, *audit_);
    std::function<void(const CellName&, Count)> announce;
    if (world.bus)
        announce = [this](const CellName& cell, Count count) {
            announce_queue_->add(cell, count, world_.steady());
        };
    global_sync_.emplace(
        *table_,
        GlobalSync::Config{.region = name_of_region(place.region),
                           .policy = policy_named(options.policy),
                           .interval = std::chrono::duration_cast<milliseconds>(options.interval),
                           .seed = world.random.next(),
                           .clock = [this] { return world_.steady(); },
                           .urged = [this] { publish_when_due(); },
                           .announce = std::move(announce)},
        world.steady());
    region_.emplace(*table_,
                    *origin_,
                    Region::Config{.clock = [this] { return world_.steady(); },
                                   .seed = world.random.next(),
                                   .again = [this] { again(); },
                                   .counted = [this](Entry& entry) { global_sync_->offer(entry); },
                                   .changed = [](bool, const std::string&) {}});
    origin_decider_.emplace(*region_, waits_);
    decider_.emplace(*table_);
    decider_->join(link_);
    failovers_seen_ = world.store.failovers;
    world_.note(TraceKind::kNodeStarted, place.serial, place.region);
    region_->start();
    if (world.bus) join_bus();
    publish_when_due();
    import_when_due();
}

Node::~Node() = default;

DecidedBy Node::decided_at_once(std::uint64_t fallbacks_before) const {
    if (origin_decider_->fallbacks() != fallbacks_before) return DecidedBy::kFallback;
    return region_->is_unavailable() ? DecidedBy::kLocalUnavailable : DecidedBy::kLocal;
}

void Node::prepare(KeyIndex key) const {
    audit_->prepare(key);
}

void Node::serve(KeyIndex key, Count cost) {
    if (world_.scheduler.now() < process_.paused_until)
        return process_.run(world_.scheduler, [this, key, cost] { serve(key, cost); });
    const Request request = world_.truth.request(key, cost);
    const UnixTime now = wall();
    const std::uint64_t fallbacks = origin_decider_->fallbacks();
    Audit::DecisionRecord record{.key = key,
                                 .cost = cost,
                                 .now = now,
                                 .arrived_ms = world_.true_ms(),
                                 .true_ms = world_.true_ms(),
                                 .by = DecidedBy::kLocal};
    Result<Decision> result = Decision{};
    if (decider_->decide_or_defer<true>(CallersTime{now}, request, result)) {
        record.by = decided_at_once(fallbacks);
        world_.note(
            result->passed ? TraceKind::kPassed : TraceKind::kDenied, place_.serial, key, cost);
        return audit_->decided(record, *result);
    }
    const auto answer = std::make_shared<AuditedDecision::Answer>();
    auto inner = make_pending_decision(*table_, request, now, [answer](Result<Decision> decision) {
        answer->single = std::move(decision);
    });
    auto audited = std::make_shared<AuditedDecision>(*this, std::move(inner), std::vector{record});
    audited->answer = answer;
    wait_for_origin(std::move(audited), key);
}

void Node::serve(std::span<const std::pair<KeyIndex, Count>> batch) {
    if (world_.scheduler.now() < process_.paused_until) return;
    const UnixTime now = wall();
    const std::uint64_t fallbacks = origin_decider_->fallbacks();
    std::vector<Request> requests;
    std::vector<Audit::DecisionRecord> records;
    for (const auto& [key, cost] : batch) {
        requests.push_back(world_.truth.request(key, cost));
        records.push_back({.key = key,
                           .cost = cost,
                           .now = now,
                           .arrived_ms = world_.true_ms(),
                           .true_ms = world_.true_ms(),
                           .by = DecidedBy::kLocal});
    }
    Result<BatchDecision> result = BatchDecision{};
    std::vector<std::size_t> stale;
    if (decider_->decide_batch_or_defer(now, requests, stale, result)) {
        const DecidedBy by = decided_at_once(fallbacks);
        for (Audit::DecisionRecord& each : records)
            each.by = by;
        world_.note(result->passed ? TraceKind::kPassed : TraceKind::kDenied,
                    place_.serial,
                    records.front().key,
                    records.front().cost);
        return audit_->decided(records, *result);
    }
    const auto answer = std::make_shared<AuditedDecision::Answer>();
    auto inner =
        make_pending_batch(*table_, requests, stale, now, [answer](Result<BatchDecision> decision) {
            answer->batch = std::move(decision);
        });
    auto audited = std::make_shared<AuditedDecision>(*this, std::move(inner), records);
    audited->answer = answer;
    wait_for_origin(std::move(audited), records.front().key);
}

void Node::wait_for_origin(std::shared_ptr<PendingDecision> pending, KeyIndex key) {
    ++waiting_;
    world_.note(TraceKind::kSentToOrigin, place_.serial, key);
    pending->begin(world_.steady() + kOriginTimeout);
    world_.scheduler.after(kThreadHandover, [this, pending] {
        process_.run(world_.scheduler, [this, pending] {
            origin_decider_->begin(pending);
            set_alarm();
        });
    });
}

void Node::again() {
    if (std::exchange(is_turn_waiting_, true)) return;
    world_.scheduler.after(kThreadHandover, [this] {
        process_.run(world_.scheduler, [this] {
            is_turn_waiting_ = false;
            turn();
        });
    });
}

void Node::turn() {
    waits_.end_due(world_.steady());
    region_->step();
    set_alarm();
}

void Node::set_alarm() {
    const auto region = region_->wake_at();
    const auto waits = waits_.wake_at();
    Moment at = Moment::max();
    if (region) at = std::min(at, World::since_start(*region));
    if (waits) at = std::min(at, World::since_start(*waits));
    if (at >= alarm_) return;
    alarm_ = std::max(at, world_.scheduler.now());
    world_.scheduler.at(alarm_, [this] {
        process_.run(world_.scheduler, [this] {
            if (world_.scheduler.now() < alarm_) return;
            alarm_ = Moment::max();
            turn();
        });
    });
}

void Node::sync(std::span<const KeyIndex> keys) {
    std::vector<Request> requests;
    for (const KeyIndex key : keys)
        requests.push_back(world_.truth.request(key, 0));
    region_->sync(requests, wall(), [](bool) {});
}

std::optional<Count> Node::global(KeyIndex key, Sequence sequence) {
    const EpochPin pin;
    const Request request = world_.truth.request(key, 0);
    const Entry* const entry = table_->find(table_->key(request));
    if (entry == nullptr) return std::nullopt;
    return entry->global(sequence);
}

void Node::check_settled() {
    const std::string name = "node-" + std::to_string(place_.serial);
    if (region_->is_unavailable())
        world_.failure.report(name + ": treats its working origin as unavailable");
    if (waiting_ != 0)
        world_.failure.report(name + ": " + std::to_string(waiting_) + " requests wait forever");
    if (!region_->is_settled())
        world_.failure.report(name + ": has not flushed everything that it admitted");
    // Twice the cap where nothing could be flushed, and a few that are being evicted.
    constexpr std::size_t kLeaving = 64;
    if (table_->tally().held() > 2 * world_.options.max_keys + kLeaving)
        world_.failure.report(name + ": holds more than twice its maximum of keys");
}

void Node::check_unavailable() {
    if (!region_->is_unavailable())
        world_.failure.report("node-" + std::to_string(place_.serial) +
                              ": treats an origin that refuses writes as available");
}

Node::Totals Node::totals() const {
    if (!process_.is_alive) return last_totals_;
    const OriginStats region = region_->stats();
    return {.audit = audit_->totals(),
            .calls = origin_->calls(),
            .flushed = region.flushed,
            .rows = global_sync_->publisher().counts().rows,
            .imported = global_sync_->importer().counts().rows,
            .outages = region.outages,
            .longest_wait = longest_wait_};
}

void Node::end() {
    last_totals_ = totals();
    process_.is_alive = false;
    world_.members[place_.region].left(place_.serial);
    origin_->sever();
    decider_.reset();
    origin_decider_.reset();
    region_.reset();
    bus_.reset();
    global_sync_.reset();
    waits_ = {};
}

void Node::crash() {
    if (!process_.is_alive) return;
    world_.note(TraceKind::kNodeEnded, place_.serial, 1);
    note_lost();
    end();
}

// Marks counts as lost: to the region if the origin lacks them, else to other regions, which may
// never import what only this node would have published.
void Node::note_lost() {
    OriginServer& origin = world_.origins[place_.region];
    audit_->each_admitted([&](const Audit::Admitted& cell) {
        const Count held =
            origin.component(place_.serial, cell.key, cell.sequence, cell.incarnation);
        const bool is_known = held >= cell.count;
        world_.truth.lose(cell.key,
                          cell.sequence,
                          place_.region,
                          is_known ? Truth::Lost::kToOtherRegions : Truth::Lost::kToRegion);
    });
}

// A settled region has nothing unsynced, unless its origin has lost data. Entries that were evicted
// at twice the cap, while the origin was unavailable, may lack counts there, as many as the table
// has counted.
void Node::check_flushed() {
    OriginServer& origin = world_.origins[place_.region];
    if (origin.losses != 0 || region_->is_unavailable()) return;
    // What was not flushed before a step is of windows that are over by the clock that is ahead.
    if (world_.expectations.has_far_steps()) return;
    std::set<KeyIndex> evicted;
    audit_->each_admitted([&](const Audit::Admitted& cell) {
        const bool is_dead = wall() >= start_of(cell.sequence + 2, world_.options.load.duration);
        if (is_dead || world_.expectations.is_forgotten(cell.sequence, world_.true_ms())) return;
        const Count held =
            origin.component(place_.serial, cell.key, cell.sequence, cell.incarnation);
        if (held >= cell.count) return;
        if (audit_->is_gone(cell.key)) evicted.insert(cell.key);
        if (evicted.size() > audit_->evicted_unsynced() || !evicted.contains(cell.key))
            world_.failure.report("node-" + std::to_string(place_.serial) + ": has settled with " +
                                  std::to_string(held) + " of k" + std::to_string(cell.key) +
                                  " in window " + std::to_string(cell.sequence) +
                                  " at its origin, of " + std::to_string(cell.count));
    });
}

void Node::correct_clock() {
    if (ahead_ == Moment{0}) return;
    ahead_ = Moment{0};
    audit_->corrected(world_.true_ms());
}

void Node::pause_until(Moment when) {
    process_.paused_until = std::max(process_.paused_until, when);
    world_.scheduler.at(when, [this] { audit_->resumed(world_.true_ms()); });
}

void Node::close(std::function<void()> ended) {
    if (!process_.is_alive || is_closing_) return;
    is_closing_ = true;
    begin_close(ended);
}

// A paused process handles the signal after it is resumed, and after earlier requests.
void Node::begin_close(std::function<void()> ended) {
    if (!process_.is_alive) return ended();
    if (world_.scheduler.now() <= process_.paused_until)
        return world_.scheduler.at(process_.paused_until + kClosePoll,
                                   [this, ended] { begin_close(ended); });
    region_->begin_stop();
    global_sync_->publisher().tick_now(world_.steady());
    publish_alarm_ = Moment::max();
    publish_when_due();
    again();
    const Moment deadline = world_.scheduler.now() + kCloseTimeout;
    const auto look = std::make_shared<std::function<void()>>();
    *look = [this, deadline, ended = std::move(ended), weak = std::weak_ptr(look)] {
        const auto self = weak.lock();
        if (!process_.is_alive) return ended();
        const bool is_done =
            region_->is_settled() && waiting_ == 0 && global_sync_->publisher().is_idle();
        if (is_done) check_flushed();
        if (is_done || world_.scheduler.now() >= deadline) {
            crash();
            return ended();
        }
        world_.scheduler.after(kClosePoll, [self] { (*self)(); });
    };
    world_.scheduler.after(kClosePoll, [look] { (*look)(); });
}

}  // namespace sluice::sim
