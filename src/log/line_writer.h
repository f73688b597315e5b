// Writes lines to a file descriptor on a thread of its own.
#ifndef SLUICE_LOG_LINE_WRITER_H_
#define SLUICE_LOG_LINE_WRITER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace sluice {

// A bounded queue of lines and the thread that writes them. append() never waits for the
// descriptor: with a pipe that is not read, lines are lost, but no time. Thread-safe.
//
// Lines are written in order. A line that finds the queue full is dropped and counted; once the
// lines before it are written, one line from `describe_dropped` stands in place of those dropped.
class LineWriter {
  public:
    struct Options {
        int descriptor;                    // duplicated; the caller keeps its own
        std::size_t capacity = 1U << 20U;  // bytes in the queue; twice that while a write hangs
        std::chrono::milliseconds close_timeout{500};
        // Returns a line, newline included. Called by the writing thread.
        std::function<std::string(std::uint64_t lines)> describe_dropped = {};
    };

    explicit LineWriter(Options options);

    // Writes the queued lines, for up to `close_timeout`, and drops those that are left. A thread
    // that hangs in write(2) beyond that is detached: it owns all that it uses.
    ~LineWriter();
    LineWriter(const LineWriter&) = delete;
    LineWriter& operator=(const LineWriter&) = delete;

    // `line` ends with a newline.
    void append(std::string_view line);

    // Waits until all lines appended before the call are written or dropped. Returns false
    // after `timeout`.
    bool flush(std::chrono::milliseconds timeout);

    // Lines dropped so far: the queue was full, or the descriptor refused them.
    std::uint64_t dropped() const;

    // Exceptions that the thread has survived so far, for lack of memory for example.
    std::uint64_t failures() const;

  private:
    class Queue;

    const std::chrono::milliseconds close_timeout_;
    const std::shared_ptr<Queue> queue_;
    std::thread thread_;
};

}  // namespace sluice

#endif  // SLUICE_LOG_LINE_WRITER_H_
