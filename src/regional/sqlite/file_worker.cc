#include "regional/sqlite/file_worker.h"

#include <deque>
#include <new>
#include <system_error>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/mutex.h"

namespace sluice {

// The jobs that wait, and the way back to the event loop. Thread-safe.
class FileWorker::Queue {
  public:
    Queue(boost::asio::io_context& loop, Ended ended)
        : ended_(std::make_shared<Ended>(std::move(ended))), loop_(&loop) {}

    std::optional<JobId> push(Time deadline, Job job) {
        const MutexLock lock(mutex_);
        if (waiting_.size() >= kMaxQueued) return std::nullopt;
        waiting_.push_back({.id = last_id_ + 1, .deadline = deadline, .job = std::move(job)});
        return ++last_id_;
    }

    bool is_underway(JobId job) const {
        const MutexLock lock(mutex_);
        return underway_ == job;
    }

    // Nothing is reported from here on.
    void close() {
        const MutexLock lock(mutex_);
        loop_ = nullptr;
        waiting_.clear();
    }

    // Runs all jobs that wait.
    void run(ComponentFile& file) {
        while (const std::optional<Waiting> next = take())
            report(next->id, run(next->job, file));
    }

  private:
    struct Waiting {
        JobId id;
        Time deadline;
        Job job;
    };

    static std::optional<Error> run(const Job& job, ComponentFile& file) {
        try {
            return job(file);
        } catch (const std::bad_alloc&) {
            return Error{kOutOfMemory, "out of memory"};  // short enough to need none
        }
    }

    std::optional<Waiting> take() {
        const MutexLock lock(mutex_);
        const Time now = Time::clock::now();
        while (!waiting_.empty() && waiting_.front().deadline <= now)
            waiting_.pop_front();
        if (waiting_.empty()) return std::nullopt;
        Waiting next = std::move(waiting_.front());
        waiting_.pop_front();
        underway_ = next.id;
        return next;
    }

    void report(JobId job, std::optional<Error> error) {
        const MutexLock lock(mutex_);
        underway_ = 0;
        if (loop_ == nullptr) return;
        try {
            boost::asio::post(
                *loop_, [ended = ended_, job, error = std::move(error)] { (*ended)(job, error); });
        } catch (const std::bad_alloc&) {  // the owner's deadline ends the call
        }
    }

    const std::shared_ptr<const Ended> ended_;
    mutable Mutex mutex_;
    boost::asio::io_context* loop_ SLUICE_GUARDED_BY(mutex_);  // none after close()
    std::deque<Waiting> waiting_ SLUICE_GUARDED_BY(mutex_);
    JobId last_id_ SLUICE_GUARDED_BY(mutex_) = 0;
    JobId underway_ SLUICE_GUARDED_BY(mutex_) = 0;  // 0: none
};

Result<std::unique_ptr<FileWorker>> FileWorker::start(boost::asio::io_context& loop,
                                                      std::unique_ptr<ComponentFile> file,
                                                      Ended ended,
                                                      OnThreadFailure on_failure) {
    std::unique_ptr<FileWorker> worker(new FileWorker);
    worker->queue_ = std::make_shared<Queue>(loop, std::move(ended));
    // The thread alone owns the file: closing it may block as well.
    const auto turn = [queue = worker->queue_,
                       owned = std::shared_ptr<ComponentFile>(std::move(file))] {
        queue->run(*owned);
        return TurnThread::Time::max();
    };
    try {
        worker->thread_.start({.name = "sluice-file", .on_failure = std::move(on_failure)}, turn);
    } catch (const std::system_error& error) {
        return Error{kOutOfThreads,
                     std::string("a thread for the region's counts: ") + error.what()};
    }
    return worker;
}

FileWorker::~FileWorker() {
    queue_->close();
    static_cast<void>(thread_.stop(Time::clock::now() + kStopTimeout));
}

std::optional<FileWorker::JobId> FileWorker::push(Time deadline, Job job) {
    const auto id = queue_->push(deadline, std::move(job));
    thread_.wake();
    return id;
}

bool FileWorker::is_underway(JobId job) const {
    return queue_->is_underway(job);
}

}  // namespace sluice
