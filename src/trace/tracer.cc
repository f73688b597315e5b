#include "trace/tracer.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"
#include "http/client/fetch.h"
#include "trace/trace_parent.h"

namespace sluice::trace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLargestBatch = 512;

// 16 hexadecimal digits, not all zero.
std::string random_id() {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::uint64_t bits = system_random();
    while (bits == 0)
        bits = system_random();
    std::string id(16, '0');
    for (char& digit : id) {
        digit = kDigits[bits & 15U];
        bits >>= 4U;
    }
    return id;
}

// The error says what failed: the connection, or an answer without a status of 2xx.
std::optional<Error> post_spans(const CollectorUrl& collector,
                                std::string body,
                                std::chrono::milliseconds timeout) {
    constexpr std::size_t kLongestAnswer = 64UL * 1024;
    const http::FetchRequest request{.host = collector.server.host,
                                     .port = std::to_string(collector.server.port),
                                     .authority = to_string(collector.server),
                                     .method = "POST",
                                     .path = collector.path,
                                     .headers = {{"Content-Type", "application/json"}},
                                     .body = std::move(body)};
    const auto answer = http::fetch(request, timeout, nullptr, kLongestAnswer);
    if (!answer) return answer.error();
    if (answer->status / 100 == 2) return std::nullopt;
    return Error{
        kStoreFailed,
        collector.shown() + ": the answer has the status " + std::to_string(answer->status)};
}

bool is_chosen(std::size_t one_in) {
    return one_in == 1 || system_random() % one_in == 0;
}

}  // namespace

// What the tracer and its thread share.
class Tracer::Queue {
  public:
    explicit Queue(TracerOptions options) : options_(std::move(options)) {}

    void add(FinishedSpan span) {
        const MutexLock lock(mutex_);
        if (spans_.size() >= options_.capacity) {
            dropped_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        spans_.push_back(std::move(span));
        if (spans_.size() == batch_size_) changed_.notify_all();
    }

    // Sends batches until close(). May be called again after an exception.
    void run() {
        while (const auto batch = next_batch()) {
            if (!batch->empty()) send(*batch);
        }
        const MutexLock lock(mutex_);
        has_ended_ = true;
        changed_.notify_all();
    }

    // Called by the thread.
    void note_failure(const ThreadFailure& failure) {
        dropped_.fetch_add(std::exchange(underway_, 0), std::memory_order_relaxed);
        const MutexLock lock(mutex_);
        if (!is_abandoned_ && options_.on_thread_failure) options_.on_thread_failure(failure);
    }

    // True if the thread has ended within `timeout`; else it ends after its current batch.
    bool close(std::chrono::milliseconds timeout) {
        const auto end = Clock::now() + timeout;
        const MutexLock lock(mutex_);
        is_closing_ = true;
        changed_.notify_all();
        while (!has_ended_) {
            if (changed_.wait_until(mutex_, end) == std::cv_status::timeout) break;
        }
        is_abandoned_ = true;
        return has_ended_;
    }

    TracerStats stats() const {
        return {.unavailable = unavailable_.load(std::memory_order_relaxed),
                .sent = sent_.load(std::memory_order_relaxed),
                .dropped = dropped_.load(std::memory_order_relaxed)};
    }

  private:
    // Waits for a full batch or the interval. None after close(), when everything is sent.
    std::optional<std::vector<FinishedSpan>> next_batch() {
        const auto end = Clock::now() + options_.interval;
        const MutexLock lock(mutex_);
        while (!is_closing_ && spans_.size() < batch_size_) {
            if (changed_.wait_until(mutex_, end) == std::cv_status::timeout) break;
        }
        if (is_abandoned_ || (is_closing_ && spans_.empty())) return std::nullopt;
        const auto last =
            spans_.begin() + static_cast<std::ptrdiff_t>(std::min(spans_.size(), batch_size_));
        std::vector<FinishedSpan> batch(std::move_iterator(spans_.begin()),
                                        std::move_iterator(last));
        spans_.erase(spans_.begin(), last);
        return batch;
    }

    void send(const std::vector<FinishedSpan>& batch) {
        underway_ = batch.size();
        const auto failed =
            post_spans(options_.collector, otlp_json(options_.resource, batch), options_.timeout);
        (failed ? dropped_ : sent_)
            .fetch_add(std::exchange(underway_, 0), std::memory_order_relaxed);
        const bool was_unavailable = unavailable_.exchange(failed.has_value());
        if (failed.has_value() == was_unavailable || !options_.on_change) return;
        const MutexLock lock(mutex_);
        if (!is_abandoned_) options_.on_change(failed ? failed->message : std::string());
    }

    const TracerOptions options_;
    const std::size_t batch_size_ = std::min(kLargestBatch, options_.capacity);
    std::size_t underway_ = 0;  // spans of the batch that is being sent; the thread's
    Mutex mutex_;
    std::condition_variable_any changed_;
    std::vector<FinishedSpan> spans_ SLUICE_GUARDED_BY(mutex_);
    bool is_closing_ SLUICE_GUARDED_BY(mutex_) = false;
    bool is_abandoned_ SLUICE_GUARDED_BY(mutex_) = false;  // nothing more is to be sent
    bool has_ended_ SLUICE_GUARDED_BY(mutex_) = false;
    // Written by the thread, `dropped_` by any. Statistics, which publish nothing.
    std::atomic<bool> unavailable_{false};
    std::atomic<std::uint64_t> sent_{0};
    std::atomic<std::uint64_t> dropped_{0};
};

void Span::add_identifier(std::string_view name, std::string_view value) {
    if (tracer_.with_identifiers_) add(name, std::string(value));
}

void Span::end() {
    span_.took = Clock::now() - since_;
    tracer_.send(std::move(span_));
}

Tracer::Tracer(TracerOptions options)
    : one_in_(options.one_in),
      with_identifiers_(options.with_identifiers),
      close_timeout_(options.close_timeout),
      queue_(std::make_shared<Queue>(std::move(options))) {}

Result<std::unique_ptr<Tracer>> Tracer::start(TracerOptions options) try {
    options.resource.emplace_back("service.name", "sluice");
    options.resource.emplace_back("service.instance.id", random_id());
    std::unique_ptr<Tracer> tracer(new Tracer(std::move(options)));
    const auto on_failure = [queue = tracer->queue_](const ThreadFailure& failure) {
        queue->note_failure(failure);
    };
    tracer->thread_ = start_thread({.name = "sluice-trace", .on_failure = on_failure},
                                   [queue = tracer->queue_] { queue->run(); });
    return tracer;
} catch (const std::system_error& refused) {
    return Error{kOutOfThreads, std::string("the system refused a thread: ") + refused.what()};
}

Tracer::~Tracer() {
    if (!thread_.joinable()) return;
    if (queue_->close(close_timeout_)) {
        thread_.join();
    } else {
        thread_.detach();
    }
}

std::shared_ptr<Span> Tracer::begin(std::string_view name,
                                    std::string_view traceparent,
                                    Time since) {
    auto parent = traceparent.empty() ? std::nullopt : parse_trace_parent(traceparent);
    if (parent ? !parent->is_sampled : !is_chosen(one_in_)) return nullptr;
    FinishedSpan span;
    span.trace_id = parent ? std::move(parent->trace_id) : random_id() + random_id();
    span.span_id = random_id();
    if (parent) span.parent_id = std::move(parent->span_id);
    span.name = name;
    using WallClock = std::chrono::system_clock;
    span.began =
        WallClock::now() - std::chrono::duration_cast<WallClock::duration>(Clock::now() - since);
    return std::shared_ptr<Span>(new Span(*this, std::move(span), since));
}

void Tracer::send(FinishedSpan span) {
    queue_->add(std::move(span));
}

TracerStats Tracer::stats() const {
    return queue_->stats();
}

}  // namespace sluice::trace
