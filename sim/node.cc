#include "sim/node.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "counter/epoch.h"
#include "service/questions.h"

namespace sluice::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// What another thread takes to begin with something.
constexpr Moment kHandOver = microseconds{20};

// How long an end waits until all is flushed and published, and how often it looks.
constexpr Moment kPatience = seconds{1};
constexpr Moment kLook = milliseconds{20};

PublishPolicy policy_named(const std::string& name) {
    for (const NamedPolicy& policy : publish_policies())
        if (policy.name == name) return policy.policy;
    SLUICE_CHECK(false);
    return nullptr;
}

}  // namespace

// A question that tells the audit how it was decided at the moment when it was, which may be before
// its caller hears of it.
class Node::Watched final : public Question {
  public:
    Watched(Node& node, std::shared_ptr<Question> inner, std::vector<Audit::Decided> made)
        : node_(node),
          inner_(std::move(inner)),
          made_(std::move(made)),
          asked_(node.world_.scheduler.now()) {}

    Kind kind() const override { return inner_->kind(); }
    std::span<const Request> stale() const override { return inner_->stale(); }
    UnixTime now() const override { return inner_->now(); }
    std::size_t size() const override { return inner_->size(); }
    bool decide_as_held() override {
        const bool is_unavailable = node_.region_->is_unavailable();
        if (!inner_->decide_as_held()) {
            has_waited_ = true;
            return false;
        }
        note(is_unavailable ? By::kAlone : By::kHeld);
        return true;
    }
    bool decide() override {
        const bool needs_sync = inner_->decide();
        note(By::kWaited);
        return needs_sync;
    }
    void accept_grant(const Grant& grant) override {
        inner_->accept_grant(grant);
        note(By::kGranted);
    }
    void finish() override {
        --node_.waiting_;
        const Moment waited = node_.world_.scheduler.now() - asked_;
        node_.longest_wait_ = std::max(node_.longest_wait_, waited);
        if (waited > kOriginTimeout + kHandOver && asked_ > node_.pulse_.paused_until)
            node_.world_.verdict.fail("node-" + std::to_string(node_.place_.serial) +
                                      ": a caller waited for " + seconds_text(waited));
    }

    // Where the real question leaves its decision.
    struct Answer {
        std::optional<Result<Decision>> single;
        std::optional<Result<BatchDecision>> batch;
    };
    std::shared_ptr<Answer> answer;

  private:
    void note(By by) {
        inner_->finish();
        for (Audit::Decided& each : made_) {
            each.by = by;
            each.true_ms = node_.world_.true_ms();
            each.has_waited = has_waited_;
        }
        const bool passed = answer->single ? (**answer->single).passed : (**answer->batch).passed;
        node_.world_.note(by == By::kGranted ? Happening::kGranted
                          : passed           ? Happening::kPassed
                                             : Happening::kDenied,
                          node_.place_.serial,
                          made_.front().key,
                          made_.front().cost);
        if (answer->single) {
            node_.audit_->decided(made_.front(), **answer->single);
        } else {
            node_.audit_->decided(made_, **answer->batch);
        }
    }

    Node& node_;
    const std::shared_ptr<Question> inner_;
    std::vector<Audit::Decided> made_;
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
                      .has_duplicates = options.faults.duplicate != 0,
                      .share_parts = options.share_parts.value_or(kAuditedShareParts),
                      .started_ms = world.true_ms()},
        world.truth,
        world.knowledge,
        world.members[place.region],
        world.verdict,
        *table_,
        options.load);
    origin_ = std::make_unique<FarOrigin>(
        world, FarOrigin::Place{place.region, place.serial}, pulse_, *audit_);
    global_sync_.emplace(
        *table_,
        GlobalSync::Config{.policy = policy_named(options.policy),
                           .interval = std::chrono::duration_cast<milliseconds>(options.interval),
                           .seed = world.random.next()},
        world.steady());
    region_.emplace(*table_,
                    *origin_,
                    Region::Config{.clock = [this] { return world_.steady(); },
                                   .seed = world.random.next(),
                                   .again = [this] { again(); },
                                   .counted = [this](Entry& entry) { global_sync_->offer(entry); },
                                   .changed = [](bool, const std::string&) {}});
    asking_.emplace(*region_, waits_);
    decider_.emplace(*table_);
    decider_->join(link_);
    failovers_seen_ = world.store.failovers;
    world_.note(Happening::kNodeStarted, place.serial, place.region);
    region_->start();
    publish_when_due();
    import_when_due();
}

Node::~Node() = default;

By Node::by_at_once(std::uint64_t fallbacks_before) const {
    if (asking_->fallbacks() != fallbacks_before) return By::kFallback;
    return region_->is_unavailable() ? By::kAlone : By::kHeld;
}

void Node::prepare(KeyIndex key) const {
    audit_->prepare(key);
}

void Node::serve(KeyIndex key, Count cost) {
    if (world_.scheduler.now() < pulse_.paused_until)
        return pulse_.run(world_.scheduler, [this, key, cost] { serve(key, cost); });
    const Request request = world_.truth.request(key, cost);
    const UnixTime now = wall();
    const std::uint64_t fallbacks = asking_->fallbacks();
    Audit::Decided made{.key = key,
                        .cost = cost,
                        .now = now,
                        .asked_ms = world_.true_ms(),
                        .true_ms = world_.true_ms(),
                        .by = By::kHeld};
    Result<Decision> result = Decision{};
    if (decider_->decide_at<true>(CallersTime{now}, request, result)) {
        made.by = by_at_once(fallbacks);
        world_.note(
            result->passed ? Happening::kPassed : Happening::kDenied, place_.serial, key, cost);
        return audit_->decided(made, *result);
    }
    const auto answer = std::make_shared<Watched::Answer>();
    auto inner = make_question(*table_, request, now, [answer](Result<Decision> decision) {
        answer->single = std::move(decision);
    });
    auto watched = std::make_shared<Watched>(*this, std::move(inner), std::vector{made});
    watched->answer = answer;
    ask(std::move(watched), {made});
}

void Node::serve(std::span<const std::pair<KeyIndex, Count>> batch) {
    if (world_.scheduler.now() < pulse_.paused_until) return;
    const UnixTime now = wall();
    const std::uint64_t fallbacks = asking_->fallbacks();
    std::vector<Request> requests;
    std::vector<Audit::Decided> made;
    for (const auto& [key, cost] : batch) {
        requests.push_back(world_.truth.request(key, cost));
        made.push_back({.key = key,
                        .cost = cost,
                        .now = now,
                        .asked_ms = world_.true_ms(),
                        .true_ms = world_.true_ms(),
                        .by = By::kHeld});
    }
    Result<BatchDecision> result = BatchDecision{};
    std::vector<std::size_t> stale;
    if (decider_->decide_at(now, requests, stale, result)) {
        const By by = by_at_once(fallbacks);
        for (Audit::Decided& each : made)
            each.by = by;
        world_.note(result->passed ? Happening::kPassed : Happening::kDenied,
                    place_.serial,
                    made.front().key,
                    made.front().cost);
        return audit_->decided(made, *result);
    }
    const auto answer = std::make_shared<Watched::Answer>();
    auto inner =
        make_question(*table_, requests, stale, now, [answer](Result<BatchDecision> decision) {
            answer->batch = std::move(decision);
        });
    auto watched = std::make_shared<Watched>(*this, std::move(inner), made);
    watched->answer = answer;
    ask(std::move(watched), made);
}

void Node::ask(std::shared_ptr<Question> question, std::vector<Audit::Decided> made) {
    ++waiting_;
    world_.note(Happening::kAsked, place_.serial, made.front().key);
    const auto pending =
        std::make_shared<PendingQuestion>(std::move(question), world_.steady() + kOriginTimeout);
    world_.scheduler.after(kHandOver, [this, pending] {
        pulse_.run(world_.scheduler, [this, pending] {
            asking_->begin(pending);
            set_alarm();
        });
    });
}

void Node::again() {
    if (std::exchange(is_turn_waiting_, true)) return;
    world_.scheduler.after(kHandOver, [this] {
        pulse_.run(world_.scheduler, [this] {
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
        pulse_.run(world_.scheduler, [this] {
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
    const Entry* const entry = table_->find(table_->key(world_.truth.request(key, 0)));
    if (entry == nullptr) return std::nullopt;
    return entry->global(sequence);
}

void Node::check_calm() {
    const std::string name = "node-" + std::to_string(place_.serial);
    if (region_->is_unavailable())
        world_.verdict.fail(name + ": its origin works, and it takes it to be unavailable");
    if (waiting_ != 0)
        world_.verdict.fail(name + ": " + std::to_string(waiting_) + " callers wait forever");
    if (!region_->is_settled())
        world_.verdict.fail(name + ": never has flushed all that it admitted");
    // Twice the cap where nothing could be flushed, and a few that are on their way out.
    constexpr std::size_t kLeaving = 64;
    if (table_->tally().held() > 2 * world_.options.max_keys + kLeaving)
        world_.verdict.fail(name + ": holds more than twice the keys that it may");
}

void Node::check_unavailable() {
    if (!region_->is_unavailable())
        world_.verdict.fail("node-" + std::to_string(place_.serial) +
                            ": its origin refuses writes, and it takes it to be available");
}

Node::Totals Node::totals() const {
    if (!pulse_.is_alive) return last_totals_;
    const Region::Stats region = region_->stats();
    return {.audit = audit_->totals(),
            .calls = origin_->calls(),
            .flushed = region.flushed,
            .rows = global_sync_->publisher().counts().rows,
            .imported = global_sync_->importer().counts().cells,
            .outages = region.outages,
            .longest_wait = longest_wait_};
}

void Node::end() {
    last_totals_ = totals();
    pulse_.is_alive = false;
    world_.members[place_.region].left(place_.serial);
    origin_->sever();
    decider_.reset();
    asking_.reset();
    region_.reset();
    global_sync_.reset();
    waits_ = {};
}

void Node::crash() {
    if (!pulse_.is_alive) return;
    world_.note(Happening::kNodeEnded, place_.serial, 1);
    note_lost();
    end();
}

// Other regions may never import what only this node would have published.
void Node::note_lost() {
    OriginServer& origin = world_.origins[place_.region];
    audit_->each_admitted([&](const Audit::Admitted& cell) {
        const Count held =
            origin.component(place_.serial, cell.key, cell.sequence, cell.incarnation);
        const bool is_known = held + cell.retired >= cell.count;
        world_.truth.lose(cell.key,
                          cell.sequence,
                          place_.region,
                          is_known ? Truth::Lost::kToOthers : Truth::Lost::kToRegion);
    });
}

// A region that has settled has left nothing unsynced, unless its origin has lost it.
void Node::check_flushed() {
    OriginServer& origin = world_.origins[place_.region];
    if (origin.losses != 0 || region_->is_unavailable()) return;
    audit_->each_admitted([&](const Audit::Admitted& cell) {
        const bool is_dead = wall() >= start_of(cell.sequence + 2, world_.options.load.duration);
        if (is_dead || world_.knowledge.is_forgotten(cell.sequence, world_.true_ms())) return;
        const Count held =
            origin.component(place_.serial, cell.key, cell.sequence, cell.incarnation);
        if (held + cell.retired < cell.count)
            world_.verdict.fail("node-" + std::to_string(place_.serial) + ": has settled with " +
                                std::to_string(held + cell.retired) + " of k" +
                                std::to_string(cell.key) + " in window " +
                                std::to_string(cell.sequence) + " at its origin, of " +
                                std::to_string(cell.count));
    });
}

void Node::pause_until(Moment when) {
    pulse_.paused_until = std::max(pulse_.paused_until, when);
    world_.scheduler.at(when, [this] { audit_->resumed(world_.true_ms()); });
}

void Node::close(std::function<void()> ended) {
    if (!pulse_.is_alive || is_closing_) return;
    is_closing_ = true;
    begin_close(ended);
}

// A process that is paused acts on its signal when it is resumed, after the requests that came
// before.
void Node::begin_close(std::function<void()> ended) {
    if (!pulse_.is_alive) return ended();
    if (world_.scheduler.now() <= pulse_.paused_until)
        return world_.scheduler.at(pulse_.paused_until + kLook,
                                   [this, ended] { begin_close(ended); });
    region_->begin_stop();
    global_sync_->publisher().tick_now(world_.steady());
    publish_alarm_ = Moment::max();
    publish_when_due();
    again();
    const Moment deadline = world_.scheduler.now() + kPatience;
    const auto look = std::make_shared<std::function<void()>>();
    *look = [this, deadline, ended = std::move(ended), weak = std::weak_ptr(look)] {
        const auto self = weak.lock();
        if (!pulse_.is_alive) return ended();
        const bool is_done =
            region_->is_settled() && waiting_ == 0 && global_sync_->publisher().is_idle();
        if (is_done) check_flushed();
        if (is_done || world_.scheduler.now() >= deadline) {
            crash();
            return ended();
        }
        world_.scheduler.after(kLook, [self] { (*self)(); });
    };
    world_.scheduler.after(kLook, [look] { (*look)(); });
}

}  // namespace sluice::sim
