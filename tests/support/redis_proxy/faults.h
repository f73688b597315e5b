// The faults of the proxy: their probabilities, their counts, and the generator that draws them.
#ifndef SLUICE_TESTS_SUPPORT_REDIS_PROXY_FAULTS_H_
#define SLUICE_TESTS_SUPPORT_REDIS_PROXY_FAULTS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>

#include "base/mutex.h"

namespace sluice::redis_test {

// How likely each fault is, from 0 to 1, drawn anew for each command or reply.
struct Faults {
    double cut_before_command = 0;  // the server sees nothing of it
    double cut_in_command = 0;      // the server sees its first bytes
    double cut_before_reply = 0;    // the server has done it, the client sees nothing of that
    double cut_in_reply = 0;        // the client sees the reply's first bytes

    // Later bytes of the same direction are delayed as well, as in TCP.
    double delay_command = 0;
    double delay_reply = 0;
    std::chrono::milliseconds max_delay{0};

    double duplicate_command = 0;  // the server gets it twice in a row; the second reply is dropped

    // With this command, one from a connection that has ended is sent once more, after a delay of
    // up to max_delay, on a connection of its own. Only EVAL and EVALSHA come back like that.
    double replay_command = 0;

    // Neither this reply nor any later one of the connection reaches the client. A single one can't
    // be lost: the client would take the next for it, which no network does.
    double swallow_reply = 0;
};

// How often each fault was done.
struct FaultCounts {
    std::uint64_t cut_before_command = 0;
    std::uint64_t cut_in_command = 0;
    std::uint64_t cut_before_reply = 0;
    std::uint64_t cut_in_reply = 0;
    std::uint64_t delay_command = 0;
    std::uint64_t delay_reply = 0;
    std::uint64_t duplicate_command = 0;  // counted when the server has answered both
    std::uint64_t replay_command = 0;     // counted when the server has answered it
    std::uint64_t swallow_reply = 0;      // counted once for a connection
};

// Draws faults at random and counts them. Thread-safe: the test sets faults and reads counts while
// the proxy's thread draws.
class FaultInjector {
  public:
    explicit FaultInjector(std::uint64_t seed) : random_(seed) {}

    void set(const Faults& faults);
    FaultCounts counts() const;

    // Whether this fault should happen now.
    bool draw(double Faults::*fault);
    // Whether it could.
    bool allows(double Faults::*fault) const;
    void count(std::uint64_t FaultCounts::*fault);

    // From 0 to the longest delay.
    std::chrono::microseconds delay();
    // From `least` to `most`.
    std::size_t number(std::size_t least, std::size_t most);

  private:
    mutable Mutex mutex_;
    Faults faults_ SLUICE_GUARDED_BY(mutex_);
    FaultCounts counts_ SLUICE_GUARDED_BY(mutex_);
    std::mt19937_64 random_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::redis_test

#endif  // SLUICE_TESTS_SUPPORT_REDIS_PROXY_FAULTS_H_
