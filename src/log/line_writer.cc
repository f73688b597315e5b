#include "log/line_writer.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/mutex.h"
#include "base/thread.h"

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

// How often a writer that waits for its descriptor looks whether it has been closed.
constexpr std::chrono::milliseconds kPollInterval{50};

// The most that is written at once. A pipe that poll() reports as writable takes this much without
// blocking, and doesn't mix it with what other processes write.
constexpr std::size_t kMaxWrite = PIPE_BUF;

// Whole lines, as many as fit into one write; part of a line that is longer than that.
std::string_view next_piece(std::string_view text) {
    if (text.size() <= kMaxWrite) return text;
    const std::size_t newline = text.rfind('\n', kMaxWrite - 1);
    return text.substr(0, newline == std::string_view::npos ? kMaxWrite : newline + 1);
}

std::uint64_t lines_in(std::string_view text) {
    return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

// Runs `start` with all signals blocked; a thread that it starts keeps them blocked. SIGPIPE from
// its writes then ends nothing, and no handler of the process runs on it.
template <class Start>
auto without_signals(Start start) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    // Restores the mask also where no thread can be started.
    const std::unique_ptr<const sigset_t, void (*)(const sigset_t*)> restored(
        &before, [](const sigset_t* mask) { pthread_sigmask(SIG_SETMASK, mask, nullptr); });
    return start();
}

}  // namespace

// What appending threads and the writing thread share.
class LineWriter::Queue {
  public:
    explicit Queue(Options options)
        : options_(std::move(options)),
          descriptor_(::fcntl(options_.descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
        // Appending must not allocate: the two buffers take turns and never grow.
        pending_.reserve(options_.capacity);
        batch_.reserve(options_.capacity);
    }

    ~Queue() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    void append(std::string_view line) {
        const MutexLock lock(mutex_);
        if (pending_.size() + line.size() > options_.capacity) {
            ++gap_;
            dropped_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        if (pending_.empty()) has_lines_.notify_one();
        pending_ += line;
        ++appended_;
    }

    bool flush(std::chrono::milliseconds timeout) {
        const auto deadline = Clock::now() + timeout;
        const MutexLock lock(mutex_);
        const std::uint64_t wanted = appended_;
        while (finished_ < wanted) {
            if (progressed_.wait_until(mutex_, deadline) == std::cv_status::timeout)
                return finished_ >= wanted;
        }
        return true;
    }

    // Returns whether the writing thread has ended.
    bool close(std::chrono::milliseconds timeout) {
        const MutexLock lock(mutex_);
        closing_ = true;
        close_deadline_ = Clock::now() + timeout;
        has_lines_.notify_one();
        while (!ended_) {
            if (progressed_.wait_until(mutex_, close_deadline_ + 2 * kPollInterval) ==
                std::cv_status::timeout)
                return ended_;
        }
        return true;
    }

    std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

    void note_failure() { failures_.fetch_add(1, std::memory_order_relaxed); }
    std::uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }

    // The body of the writing thread.
    void run() {
        while (const Taken taken = take()) {
            std::string notice;
            // Without memory for the notice, the next one has this gap, too.
            const bool is_described =
                run_guarded({.name = "sluice-log",
                             .on_failure = [this](const ThreadFailure&) { note_failure(); }},
                            [&] {
                                if (taken.gap > 0 && options_.describe_dropped)
                                    notice = options_.describe_dropped(taken.gap);
                            });
            const std::uint64_t lost = lines_in(write_out(batch_));
            const bool is_reported = is_described && lost == 0 && write_out(notice).empty();
            finish(taken, lost, is_reported);
        }
        const MutexLock lock(mutex_);
        ended_ = true;
        progressed_.notify_all();
    }

  private:
    // What the writing thread has taken out of the queue, beside the text in `batch_`.
    struct Taken {
        bool is_any;
        std::uint64_t gap;
        std::uint64_t last;  // `appended_` as it was

        explicit operator bool() const { return is_any; }
    };

    // Waits for lines. A gap is reported behind the next lines that are written.
    Taken take() {
        const MutexLock lock(mutex_);
        while (pending_.empty() && !closing_)
            has_lines_.wait(mutex_);
        batch_.clear();
        batch_.swap(pending_);
        return {!batch_.empty(), std::exchange(gap_, 0), appended_};
    }

    void finish(const Taken& taken, std::uint64_t lost, bool is_reported) {
        const MutexLock lock(mutex_);
        finished_ = taken.last;
        gap_ += lost + (is_reported ? 0 : taken.gap);
        dropped_.fetch_add(lost, std::memory_order_relaxed);
        progressed_.notify_all();
    }

    // Returns what was not written, because the descriptor refused it or the queue was closed.
    std::string_view write_out(std::string_view text) {
        while (!text.empty() && wait_until_writable()) {
            const std::string_view piece = next_piece(text);
            const ssize_t written = ::write(descriptor_, piece.data(), piece.size());
            if (written >= 0) {
                text.remove_prefix(static_cast<std::size_t>(written));
            } else if (errno == EAGAIN) {
                std::this_thread::sleep_for(kPollInterval);
            } else if (errno != EINTR) {
                break;
            }
        }
        return text;
    }

    // Returns false once the close deadline has passed. A descriptor in error counts as writable,
    // for write() to say so.
    bool wait_until_writable() {
        pollfd wanted{descriptor_, POLLOUT, 0};
        while (descriptor_ >= 0 &&
               ::poll(&wanted, 1, static_cast<int>(kPollInterval.count())) == 0) {
            const MutexLock lock(mutex_);
            if (closing_ && Clock::now() >= close_deadline_) return false;
        }
        return true;
    }

    const Options options_;
    const int descriptor_;  // -1 if there was none to duplicate: every write fails
    std::string batch_;     // owned by the writing thread

    Mutex mutex_;
    std::condition_variable_any has_lines_;   // for the writing thread
    std::condition_variable_any progressed_;  // for flush() and close()
    std::string pending_ SLUICE_GUARDED_BY(mutex_);
    std::uint64_t gap_ SLUICE_GUARDED_BY(mutex_) = 0;  // lines dropped and not reported yet
    std::uint64_t appended_ SLUICE_GUARDED_BY(mutex_) = 0;
    std::uint64_t finished_ SLUICE_GUARDED_BY(mutex_) = 0;  // of these, written or dropped
    bool closing_ SLUICE_GUARDED_BY(mutex_) = false;
    bool ended_ SLUICE_GUARDED_BY(mutex_) = false;
    Clock::time_point close_deadline_ SLUICE_GUARDED_BY(mutex_){};
    // Written under the mutex, read by a scrape without it. Relaxed: a number that stands alone.
    std::atomic<std::uint64_t> dropped_{0};
    std::atomic<std::uint64_t> failures_{0};  // likewise
};

LineWriter::LineWriter(Options options)
    : close_timeout_(options.close_timeout),
      queue_(std::make_shared<Queue>(std::move(options))),
      thread_(without_signals([this] {
          const auto on_failure = [queue = queue_](const ThreadFailure&) { queue->note_failure(); };
          return start_thread({.name = "sluice-log", .on_failure = on_failure},
                              [queue = queue_] { queue->run(); });
      })) {}

LineWriter::~LineWriter() {
    if (queue_->close(close_timeout_)) {
        thread_.join();
    } else {
        thread_.detach();
    }
}

void LineWriter::append(std::string_view line) {
    queue_->append(line);
}

bool LineWriter::flush(std::chrono::milliseconds timeout) {
    return queue_->flush(timeout);
}

std::uint64_t LineWriter::dropped() const {
    return queue_->dropped();
}

std::uint64_t LineWriter::failures() const {
    return queue_->failures();
}

}  // namespace sluice
