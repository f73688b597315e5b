// Traces of decisions that waited: samples them, and sends their spans to a collector.
#ifndef SLUICE_TRACE_TRACER_H_
#define SLUICE_TRACE_TRACER_H_

#include <sluice/result.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/thread.h"
#include "trace/span.h"
#include "url/collector_url.h"

namespace sluice::trace {

struct TracerOptions {
    CollectorUrl collector;
    std::size_t one_in = 100;       // sampled: one of this many requests without a traceparent
    bool with_identifiers = false;  // spans name what was limited
    Attributes resource = {};       // of this process
    std::size_t capacity = 2'048;   // spans that wait to be sent
    std::chrono::milliseconds interval{1'000};  // between batches that are not full
    std::chrono::milliseconds timeout{5'000};   // for connecting, sending and the answer
    std::chrono::milliseconds close_timeout{1'000};
    // The collector fails (with the reason) or works again (empty). Called by the sending thread,
    // never after the tracer is gone; must neither block nor throw, nor use the tracer.
    std::function<void(const std::string& why)> on_change = {};
    // The sending thread has lost a batch by an exception, most likely std::bad_alloc.
    OnThreadFailure on_thread_failure = {};
};

struct TracerStats {
    bool unavailable = false;
    std::uint64_t sent = 0;     // spans that the collector took
    std::uint64_t dropped = 0;  // spans that found the queue full, or that it did not take
};

class Tracer;

// A sampled request that waits. Thread-compatible.
class Span {
  public:
    void add(std::string_view name, AttributeValue value) {
        span_.attributes.emplace_back(name, std::move(value));
    }
    // Adds an attribute that may identify a person, if the tracer may send such.
    void add_identifier(std::string_view name, std::string_view value);
    void fail() { span_.has_failed = true; }
    // Sends it. Once; the tracer must exist.
    void end();

  private:
    friend class Tracer;
    using Time = std::chrono::steady_clock::time_point;
    Span(Tracer& tracer, FinishedSpan span, Time since)
        : tracer_(tracer), span_(std::move(span)), since_(since) {}

    Tracer& tracer_;
    FinishedSpan span_;
    const Time since_;
};

// A bounded queue of spans and the thread that posts them as OTLP/HTTP in JSON, up to 512 at a
// time. No caller waits for it: a span that finds the queue full is dropped, and so is a batch that
// the collector does not take. Thread-safe.
class Tracer {
  public:
    // kOutOfThreads.
    static Result<std::unique_ptr<Tracer>> start(TracerOptions options);

    // Sends what is queued, for up to `close_timeout`. A thread that hangs beyond that, in the
    // resolution of a name, is detached: it owns all that it uses.
    ~Tracer();
    Tracer(const Tracer&) = delete;
    Tracer& operator=(const Tracer&) = delete;

    // The span of a request that waits since then and has this traceparent, or none if empty. Null
    // if it is not sampled: the sender of a valid traceparent decides, else chance. `name` is a
    // literal.
    using Time = std::chrono::steady_clock::time_point;
    std::shared_ptr<Span> begin(std::string_view name,
                                std::string_view traceparent,
                                Time since = std::chrono::steady_clock::now());

    TracerStats stats() const;

  private:
    friend class Span;
    class Queue;
    explicit Tracer(TracerOptions options);
    void send(FinishedSpan span);

    const std::size_t one_in_;
    const bool with_identifiers_;
    const std::chrono::milliseconds close_timeout_;
    const std::shared_ptr<Queue> queue_;
    std::thread thread_;
};

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_TRACER_H_
