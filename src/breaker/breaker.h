// A circuit breaker: blocks calls to a failing dependency, and probes whether it works again.
#ifndef SLUICE_BREAKER_BREAKER_H_
#define SLUICE_BREAKER_BREAKER_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

namespace sluice {

// Breaker judges by the share of calls that failed, never by their number alone: many calls at once
// are no reason to open it. It has no thread and no clock: time and results go in, a verdict comes
// out.
//
//     closed     every call is allowed. Opens when enough calls ended within the window, and too
//                large a share of them failed.
//     open       no call is allowed, for a fixed time.
//     half-open  one call at a time is allowed, the probe. Its success closes the breaker and
//                forgets the past; its failure opens it again. A probe without a result is given up
//                after a while, and another one allowed.
//
// The result of a call that began before the breaker last changed its mind changes nothing.
//
// Thread-compatible.
//
//     if (!breaker.allow(now)) return decide_locally();
//     ... the call ...
//     failed ? breaker.failed({.began = now, .ended = then})
//            : breaker.succeeded({.began = now, .ended = then});
class Breaker {
  public:
    using Clock = std::chrono::steady_clock;
    using Time = Clock::time_point;

    enum class State { kClosed, kOpen, kHalfOpen };

    struct Config {
        // Opens when, of at least so many calls within the window, so many per hundred failed.
        std::uint32_t least_calls = 20;
        std::uint32_t failed_percent = 50;
        // Counted in slots of a tenth, the one that runs among them: what is older than the window
        // is never counted, what is younger than nine tenths of it always is.
        std::chrono::milliseconds window{10'000};
        std::chrono::milliseconds open_for{5'000};
        std::chrono::milliseconds probe_timeout{5'000};  // how long to wait for a probe's result
    };

    // A call that was allowed.
    struct Call {
        Time began;  // the time at which it was allowed
        Time ended;
    };

    Breaker() : Breaker(Config{}) {}
    explicit Breaker(const Config& config);

    // Whether a call may begin now. If so, report its result by succeeded() or failed().
    bool allow(Time now);

    void succeeded(const Call& call) { record(call, Outcome::kSuccess); }
    void failed(const Call& call) { record(call, Outcome::kFailure); }

    // Opens it now, whatever it was, for the full time.
    void trip(Time now);
    // Closes it and forgets the past, as a successful probe does.
    void reset();

    State state(Time now) const;

  private:
    enum class Outcome { kSuccess, kFailure };

    static constexpr std::int64_t kSlots = 10;

    // What ended within a tenth of the window.
    struct Slot {
        std::int64_t number = std::numeric_limits<std::int64_t>::min();
        std::uint64_t calls = 0;
        std::uint64_t failures = 0;
    };

    void record(const Call& call, Outcome outcome);
    void count(Time ended, Outcome outcome);
    bool fails_too_often(Time now) const;
    void close(Time now);
    std::int64_t slot_number(Time time) const;

    const Config config_;
    std::array<Slot, kSlots> slots_{};
    Time latest_ = Time::min();        // the latest time that was passed in
    Time closed_since_ = Time::min();  // results of calls that began earlier don't count
    std::optional<Time> opened_;       // none while it is closed
    std::optional<Time> probe_;        // when the probe that is underway began
};

}  // namespace sluice

#endif  // SLUICE_BREAKER_BREAKER_H_
