// The thread that reads and writes the file of an SQLite origin.
#ifndef SLUICE_REGIONAL_SQLITE_FILE_WORKER_H_
#define SLUICE_REGIONAL_SQLITE_FILE_WORKER_H_

#include <sluice/result.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <boost/asio/io_context.hpp>

#include "base/turn_thread.h"
#include "regional/sqlite/component_file.h"

namespace sluice {

// FileWorker runs jobs on a ComponentFile one after the other, on its own thread, and reports each
// on the event loop.
//
// Owned by the thread of the event loop.
class FileWorker {
  public:
    using Time = std::chrono::steady_clock::time_point;
    using JobId = std::uint64_t;  // counts from 1
    // Runs on the worker's thread, which may outlive the worker.
    using Job = std::function<std::optional<Error>(ComponentFile&)>;
    // Runs on the event loop, also after the worker is destroyed.
    using Ended = std::function<void(JobId job, const std::optional<Error>& error)>;

    static constexpr std::size_t kMaxQueued = 1'024;
    // How long its destruction waits for a job that is underway.
    static constexpr std::chrono::milliseconds kStopTimeout{1'000};

    // `loop` must outlive it. Fails if the system refuses a thread.
    static Result<std::unique_ptr<FileWorker>> start(boost::asio::io_context& loop,
                                                     std::unique_ptr<ComponentFile> file,
                                                     Ended ended,
                                                     OnThreadFailure on_failure);

    // Drops queued jobs and closes the file. If a job is stuck, the thread is detached: it closes
    // the file and ends when the job does.
    ~FileWorker();
    FileWorker(const FileWorker&) = delete;
    FileWorker& operator=(const FileWorker&) = delete;

    // Queues a job. It is dropped without a report if its turn comes after `deadline`. Returns none
    // if the queue is full.
    std::optional<JobId> push(Time deadline, Job job);

    // Whether the job has begun and not ended.
    bool is_underway(JobId job) const;

  private:
    class Queue;
    FileWorker() = default;

    std::shared_ptr<Queue> queue_;  // shared with the thread
    TurnThread thread_;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_SQLITE_FILE_WORKER_H_
