// A node's part in its region: what it tells the origin, what it hears, and when neither works.
#ifndef SLUICE_REGIONAL_REGION_H_
#define SLUICE_REGIONAL_REGION_H_

#include <sluice/limiter.h>
#include <sluice/time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/jitter.h"
#include "breaker/breaker.h"
#include "counter/table.h"
#include "regional/origin.h"
#include "regional/refresh.h"
#include "regional/replay.h"
#include "regional/rest.h"

namespace sluice {

// Region drives Replay and Refresh over one origin, behind a breaker. It asks its driver for turns:
// `again` after something has happened, and wake_at() for what has to wait.
//
// While the origin is away, or the breaker is not closed, nobody waits: is_away() tells callers to
// decide by themselves. Probes are the region's own, never somebody's request.
//
// A stepped object: no thread and no socket; its clock is given. Owned by one thread, but for
// is_away(), note_time() and counts(), which any may call.
class Region {
  public:
    using Time = Breaker::Time;

    struct Config {
        Refresh::Region kind = Refresh::Region::kShared;
        std::function<Time()> clock = std::chrono::steady_clock::now;
        std::function<UnixTime()> wall_clock = exact_wall_time;
        std::uint64_t seed = 0;  // of the jitter
        // So many cells are much to tell in a round.
        std::size_t much = Rest::kMuch;
        // Step soon, but not from within this call. May be called by any thread.
        std::function<void()> again;
        // The regional count of an entry may have grown. May be empty.
        std::function<void(Entry&)> counted = {};
        // The region has become, or ceased to be, one that works. `why` is for people.
        std::function<void(bool away, const std::string& why)> changed;
    };

    // The table and the origin must outlive the region.
    Region(Table& table, Origin& origin, Config config);
    ~Region();
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;

    // Connects. Once.
    void start();

    // Does what can be done now.
    void step();
    // When to step next though nothing has happened; none if that is not needed.
    std::optional<Time> wake_at() const { return wake_at_; }

    bool is_away() const { return is_away_.load(std::memory_order_relaxed); }

    // A request came at `now`. By any thread; now and then is enough.
    void note_time(UnixTime now);

    // Reads the counts of the keys of `requests` at `now`, in one round trip; `heard` tells whether
    // all were answered. At once, with false, while the region is away, and with true for none.
    void refresh(std::span<const Request> requests, UnixTime now, Refresh::Heard heard);

    // Tells what this node has spent of the keys of `requests`, ahead of replay. `done` is called
    // when the origin has answered, or failed to.
    void confirm(std::span<const Request> requests, std::function<void()> done);

    // The origin refuses calls, for this reason. For people, and holds no secret.
    void note_refusal(const std::string& why) { refusal_ = why; }

    // Nothing is left to tell, as of the last step.
    bool is_settled() const { return is_settled_; }

    // From now on nothing is told later than it can be.
    void stop_resting() {
        may_rest_ = false;
        end_rest();
    }

    // Answers all that wait, now or later, with nothing.
    void give_up();

    // Since the start.
    struct Counts {
        std::uint64_t reads;          // keys read
        std::uint64_t told;           // components sent, however often
        std::uint64_t unanswered;     // cells for which no answer came
        std::uint64_t outages;        // how often the origin went away, or the breaker opened
        std::uint64_t resubmissions;  // how often all that is held was told again
    };
    Counts counts() const;

  private:
    class Guard;
    using Counter = std::atomic<std::uint64_t>;

    OriginEvents events();
    void judge();
    void look();
    void probe();
    bool replay();
    void on_told(std::span<const CellAnswer> answers);
    bool rests(Time now) { return rest_.goes_on(now, table_.changed()) && may_rest_; }
    void end_rest();
    // What was told before a request passed that might make the difference elsewhere.
    struct Confirmation {
        struct Told {
            Entry::Key key;
            Telling telling;
        };
        std::vector<Told> told;
        std::uint64_t resubmissions;  // as many as there were when it was told
    };
    void hear(const Confirmation& confirmation, std::span<const CellAnswer> answers);
    UnixTime requests_time() const;
    UnixTime heard_time() const;
    void tell_all_again();
    Time jittered(std::chrono::milliseconds delay);

    Table& table_;
    const Config config_;
    Breaker breaker_;
    const std::unique_ptr<Guard> origin_;
    Replay replay_;
    Refresh refresh_;
    bool is_back_ = false;
    std::string why_;                  // it is away
    std::string refusal_;              // that was noted last
    std::optional<Table::Walk> walk_;  // through what is told again
    int failures_ = 0;                 // batches that were not answered in full, in a row
    Time not_before_ = Time::min();    // of replay
    Time retry_at_ = Time::min();      // of what was set aside
    Time look_at_ = Time::min();       // at an origin that is away
    Time tidy_at_ = Time::min();
    Time round_began_ = Time::min();
    Rest rest_;
    Telling::Aim aim_ = Telling::Aim::kTell;  // of this round
    Jitter jitter_;
    std::optional<Time> wake_at_;
    bool is_settled_ = false;
    bool may_rest_ = true;
    // Written by the owner, read by any. Relaxed: each stands for itself.
    std::atomic<bool> is_away_{true};
    std::atomic<bool> is_wall_time_{false};  // requests come with about the wall clock's time
    // Some request lately had a time of its own; by the steady clock.
    std::atomic<Time::rep> odd_until_{Time::min().time_since_epoch().count()};
    Counter told_{0};
    Counter unanswered_{0};
    Counter outages_{0};
    Counter resubmissions_{0};
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REGION_H_
