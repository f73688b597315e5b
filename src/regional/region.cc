#include "regional/region.h"

#include <algorithm>
#include <utility>

#include "counter/epoch.h"
#include "regional/telling.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

// Buckets looked through in one step while all is told again: about as many entries as a batch has.
constexpr std::size_t kBucketsPerStep = 256;

// How often a breaker that is not closed is looked at.
constexpr milliseconds kLook{250};

// Between a batch that failed and the next one.
constexpr milliseconds kFirstRetry{50};
constexpr milliseconds kLastRetry{2'000};

// Clocks of a well-kept fleet differ by less.
constexpr std::chrono::seconds kNearly{60};

// What lies between the clock's time and that of a request that has it from there.
constexpr milliseconds kExactly{100};

// Between two rounds of replay as long as the first one took, within these bounds: what changes
// meanwhile is told together, which costs the origin and this node a fraction of telling it piece
// by piece. Where a limit may be near, there is no pause.
constexpr Region::Time::duration kLeastPause = milliseconds{2};
constexpr Region::Time::duration kMostPause = milliseconds{5};

// How often what can't be told is looked through for what need not be told any more.
constexpr milliseconds kTidy{5'000};

// Asked for to find out whether the origin answers. Many, so that some lie on those servers of a
// cluster that do.
std::vector<CellQuestion> probes() {
    constexpr int kProbes = 64;
    std::vector<CellQuestion> cells;
    for (int i = 0; i < kProbes; ++i) {
        cells.push_back({.cell = {.workspace = "sluice",
                                  .name_space = "probe",
                                  .identifier = std::to_string(i),
                                  .duration = kMinDuration,
                                  .sequence = 0},
                         .incarnation = 0});
    }
    return cells;
}

std::size_t unanswered(std::span<const CellAnswer> answers) {
    const auto is_missing = [](const CellAnswer& answer) { return !answer.has_value(); };
    return static_cast<std::size_t>(std::ranges::count_if(answers, is_missing));
}

}  // namespace

// The origin as the breaker allows it.
class Region::Guard : public Origin {
  public:
    Guard(Origin& origin, Region& region) : origin_(origin), region_(region) {}

    void start(OriginEvents events) override { origin_.start(std::move(events)); }

    void read(std::vector<CellQuestion> cells, Answered answered) override {
        const Time now = region_.config_.clock();
        if (!region_.is_back_ || !region_.breaker_.allow(now))
            return answered(std::vector<CellAnswer>(cells.size()));
        origin_.read(std::move(cells), recorded(now, std::move(answered)));
    }

    void raise(std::vector<CellComponent> components, Answered answered) override {
        const Time now = region_.config_.clock();
        if (!region_.is_back_ || !region_.breaker_.allow(now))
            return answered(std::vector<CellAnswer>(components.size()));
        const auto is_told = [](const CellComponent& component) { return component.own != 0; };
        const auto told = std::ranges::count_if(components, is_told);
        region_.told_.fetch_add(static_cast<std::uint64_t>(told), std::memory_order_relaxed);
        origin_.raise(std::move(components), recorded(now, std::move(answered)));
    }

    void list(std::vector<CellName> cells, Listed listed) override {
        origin_.list(std::move(cells), std::move(listed));
    }

    std::string node() const override { return origin_.node(); }

    // A probe is good if anything was answered.
    void probe() {
        const Time now = region_.config_.clock();
        if (!region_.breaker_.allow(now)) return;
        origin_.read(probes(), [this, now](const std::vector<CellAnswer>& answers) {
            const Breaker::Call call{.began = now, .ended = region_.config_.clock()};
            if (unanswered(answers) < answers.size()) {
                region_.breaker_.succeeded(call);
            } else {
                region_.breaker_.failed(call);
            }
            region_.config_.again();
        });
    }

    // Past the breaker, for an origin that may not know that it works again.
    void raise_past(std::vector<CellComponent> components, Answered answered) {
        origin_.raise(std::move(components), std::move(answered));
    }

  private:
    // A call has failed if most of its cells were not answered for: of a cluster, one server may be
    // away while the others work.
    Answered recorded(Time began, Answered answered) {
        return [this, began, answered = std::move(answered)](std::vector<CellAnswer> answers) {
            const Breaker::Call call{.began = began, .ended = region_.config_.clock()};
            const std::size_t missing = unanswered(answers);
            region_.unanswered_.fetch_add(missing, std::memory_order_relaxed);
            if (2 * missing > answers.size()) {
                region_.breaker_.failed(call);
            } else {
                region_.breaker_.succeeded(call);
            }
            answered(std::move(answers));
            region_.config_.again();
        };
    }

    Origin& origin_;
    Region& region_;
};

Region::Region(Table& table, Origin& origin, Config config)
    : table_(table),
      config_(std::move(config)),
      origin_(std::make_unique<Guard>(origin, *this)),
      replay_(table, config_.counted),
      refresh_(table, *origin_, config_.kind, config_.counted),
      rest_(config_.much),
      jitter_(config_.seed) {
    table_.changed().set_wake(config_.again);
}

Region::~Region() = default;

void Region::start() {
    origin_->start(events());
}

OriginEvents Region::events() {
    return {.back =
                [this](bool remembers) {
                    is_back_ = true;
                    breaker_.reset();
                    refusal_.clear();
                    failures_ = 0;
                    not_before_ = retry_at_ = Time::min();
                    end_rest();
                    if (!remembers) tell_all_again();
                    judge();
                    config_.again();
                },
            .away =
                [this](const std::string& why) {
                    const bool is_news = is_back_ || why != why_;
                    is_back_ = false;
                    why_ = why;
                    if (is_away() && is_news) config_.changed(true, why_);
                    judge();
                    config_.again();
                },
            .forgot =
                [this] {
                    tell_all_again();
                    config_.again();
                }};
}

void Region::tell_all_again() {
    walk_ = Table::Walk{};
    end_rest();
    resubmissions_.fetch_add(1, std::memory_order_relaxed);
}

// What there is to tell is told without delay.
void Region::end_rest() {
    rest_.end();
    aim_ = Telling::Aim::kTell;
}

// Whether it works, and whether that is news.
void Region::judge() {
    const bool is_open = breaker_.state(config_.clock()) != Breaker::State::kClosed;
    const bool away = !is_back_ || is_open;
    if (away == is_away()) return;
    is_away_.store(away, std::memory_order_relaxed);
    end_rest();
    if (away) outages_.fetch_add(1, std::memory_order_relaxed);
    if (is_back_ && is_open)
        why_ = refusal_.empty() ? "too many calls go unanswered" : "it refuses calls; " + refusal_;
    config_.changed(away, away ? why_ : std::string());
    if (away) return;
    round_began_ = config_.clock();  // a round that was interrupted goes on from here
    why_.clear();
    refusal_.clear();
}

void Region::step() {
    judge();
    wake_at_.reset();
    refresh_.send();
    if (is_away()) {
        look();
    } else if (replay()) {
        config_.again();
    }
}

// While it is away: finds out whether it still is, and lets go of what need not be told any more.
void Region::look() {
    const Time now = config_.clock();
    is_settled_ = replay_.has_told_all() && !walk_ && table_.changed().sleep();
    if (now >= look_at_) {
        look_at_ = now + kLook;
        probe();
    }
    if (now >= tidy_at_) {
        tidy_at_ = now + kTidy;
        replay_.tidy();
    }
    wake_at_ = look_at_;
}

// An origin that is away by its own account may need a call to find out that it is not, and a write
// if it was one that failed. One that knows better answers at once.
void Region::probe() {
    if (is_back_) {
        if (breaker_.state(config_.clock()) == Breaker::State::kHalfOpen) origin_->probe();
        return;
    }
    std::vector<CellComponent> batch = replay_.next(requests_time());
    if (batch.empty()) return;
    origin_->raise_past(std::move(batch), [this](const std::vector<CellAnswer>& answers) {
        replay_.answered(answers);
        replay_.retry();
        if (is_back_) config_.again();
    });
}

// Sends the next batch. True if there may be more to do at once.
bool Region::replay() {
    is_settled_ = false;
    if (replay_.is_underway()) return false;
    const Time now = config_.clock();
    if (now >= retry_at_ && replay_.retry()) table_.changed().hurry();
    if (now < not_before_) {
        wake_at_ = not_before_;
        return false;
    }
    if (rests(now)) {
        wake_at_ = rest_.wake_at();
        if (!replay_.has_told_all()) wake_at_ = std::min(*wake_at_, retry_at_);
        return false;
    }
    table_.changed().end_rest();
    if (replay_.is_between_rounds()) {
        round_began_ = now;
        aim_ = rest_.next_aim();
    }
    const UnixTime time = requests_time();
    if (walk_ && table_.list_again(*walk_, kBucketsPerStep, time)) {
        walk_.reset();
        table_.changed().hurry();  // what it listed last
    }
    std::vector<CellComponent> batch = replay_.next(time, heard_time(), aim_);
    if (!batch.empty()) {
        origin_->raise(std::move(batch),
                       [this](const std::vector<CellAnswer>& answers) { on_told(answers); });
        return false;
    }
    if (walk_ || !table_.changed().sleep()) return true;
    is_settled_ = replay_.has_told_all();
    if (!is_settled_) wake_at_ = retry_at_;
    return false;
}

// What was not answered is set aside for a while; the rest goes on, unless most was not.
void Region::on_told(std::span<const CellAnswer> answers) {
    const std::size_t missing = unanswered(answers);
    replay_.answered(answers);
    const Time now = config_.clock();
    not_before_ = Time::min();
    if (replay_.is_between_rounds() && !walk_) {
        if (replay_.round().urgency < Telling::Urgency::kAtOnce)
            not_before_ = now + std::clamp(now - round_began_, kLeastPause, kMostPause);
        if (replay_.round().urgency == Telling::Urgency::kFar && table_.changed().rest())
            rest_.begin(now, now - round_began_, replay_.round(), table_.changed());
    }
    failures_ = missing == 0 ? 0 : failures_ + 1;
    if (missing == 0) return;
    retry_at_ = jittered(kFirstRetry * (1 << std::min(failures_ - 1, 6)));
    if (2 * missing > answers.size()) not_before_ = retry_at_;
}

Region::Time Region::jittered(milliseconds delay) {
    return config_.clock() + jitter_.up_to(std::min(delay, kLastRetry));
}

// What time it is to those who ask. In production that is the wall clock's, by which cells that
// died while the origin was away need not be told. Where callers bring another time, only their
// requests tell it.
UnixTime Region::requests_time() const {
    return is_wall_time_.load(std::memory_order_relaxed) ? config_.wall_clock() : UnixTime::min();
}

// By what time an answer is known that comes now. Only the requests tell, where any of them lately
// had a time of its own.
UnixTime Region::heard_time() const {
    const Time odd_until{Time::duration{odd_until_.load(std::memory_order_relaxed)}};
    return config_.clock() < odd_until ? UnixTime::min() : requests_time();
}

void Region::note_time(UnixTime now) {
    const Duration apart = std::chrono::abs(now - config_.wall_clock());
    is_wall_time_.store(apart < kNearly, std::memory_order_relaxed);
    if (apart < kExactly) return;
    const Time until = config_.clock() + kNearly;
    odd_until_.store(until.time_since_epoch().count(), std::memory_order_relaxed);
}

void Region::refresh(std::span<const Request> requests, UnixTime now, Refresh::Heard heard) {
    note_time(now);
    if (is_away()) return heard(false);
    if (requests.empty()) return heard(true);
    struct Countdown {
        std::size_t left;
        bool all = true;
        Refresh::Heard heard;
    };
    const auto countdown =
        std::make_shared<Countdown>(Countdown{.left = requests.size(), .heard = std::move(heard)});
    for (const Request& request : requests) {
        refresh_.ask(request, now, [countdown](bool is_answered) {
            countdown->all &= is_answered;
            if (--countdown->left == 0) countdown->heard(countdown->all);
        });
    }
    config_.again();
}

void Region::confirm(std::span<const Request> requests, std::function<void()> done) {
    Confirmation confirmation{.told = {}, .resubmissions = counts().resubmissions};
    std::vector<CellComponent> components;
    {
        const EpochPin pin;
        for (const Request& request : requests) {
            if (const Entry* entry = table_.find(table_.key(request)))
                confirmation.told.push_back(
                    {entry->key(), Telling(*entry, requests_time(), UnixTime::min(), components)});
        }
    }
    if (components.empty()) return done();
    origin_->raise(std::move(components),
                   [this, confirmation = std::move(confirmation), done = std::move(done)](
                       const std::vector<CellAnswer>& answers) {
                       hear(confirmation, answers);
                       done();
                   });
}

void Region::hear(const Confirmation& confirmation, std::span<const CellAnswer> answers) {
    const bool has_forgotten = confirmation.resubmissions != counts().resubmissions;
    for (const auto& [key, telling] : confirmation.told) {
        const auto mine = answers.first(telling.cells());
        answers = answers.subspan(mine.size());
        const EpochPin pin;
        const Request request{.workspace = key.workspace,
                              .name_space = key.name_space,
                              .identifier = key.identifier,
                              .duration = key.duration};
        Entry* const entry = table_.find(table_.key(request));
        if (entry == nullptr) continue;
        telling.hear(mine, *entry);
        // Whether it landed before or after, nobody knows.
        if (has_forgotten) entry->set_told(0, 0);
    }
}

void Region::give_up() {
    refresh_.give_up();
}

Region::Counts Region::counts() const {
    const auto read = [](const Counter& counter) {
        return counter.load(std::memory_order_relaxed);
    };
    return {.reads = refresh_.reads(),
            .told = read(told_),
            .unanswered = read(unanswered_),
            .outages = read(outages_),
            .resubmissions = read(resubmissions_)};
}

}  // namespace sluice
