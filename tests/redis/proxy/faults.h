// What the proxy may do to the commands and replies that pass through it.
#ifndef SLUICE_TESTS_REDIS_PROXY_FAULTS_H_
#define SLUICE_TESTS_REDIS_PROXY_FAULTS_H_

#include <chrono>
#include <cstdint>

namespace sluice::redis_test {

// How likely each fault is, from 0 to 1, drawn anew for each command or reply.
struct Faults {
    double cut_before_command = 0;  // the server sees nothing of it
    double cut_in_command = 0;      // the server sees its first bytes
    double cut_before_reply = 0;    // the server has done it, the client sees nothing of that
    double cut_in_reply = 0;        // the client sees the reply's first bytes

    // What comes behind it in the same direction waits as well, as in TCP.
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

}  // namespace sluice::redis_test

#endif  // SLUICE_TESTS_REDIS_PROXY_FAULTS_H_
