#include "regional/sqlite/sqlite_origin.h"

#include <deque>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "regional/sqlite/component_file.h"
#include "regional/sqlite/file_worker.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using Time = FileWorker::Time;
using JobId = FileWorker::JobId;

// While the origin is unavailable it gets no calls, so it probes the file itself.
constexpr milliseconds kProbe{500};

template <class T>
using Work = std::function<Result<T>(ComponentFile&)>;

// A job that does `work` and stores its value.
template <class T>
FileWorker::Job job_of(Work<T> work, std::shared_ptr<std::optional<T>> value) {
    return [work = std::move(work),
            value = std::move(value)](ComponentFile& file) -> std::optional<Error> {
        Result<T> result = work(file);
        if (!result) return std::move(result).error();
        *value = *std::move(result);
        return std::nullopt;
    };
}

// The answers by key; none for each of `keys` if the call has none.
template <class Answer, class T>
std::vector<Answer> by_key(std::optional<std::vector<T>> answers, std::size_t keys) {
    if (!answers) return std::vector<Answer>(keys);
    return {std::move_iterator(answers->begin()), std::move_iterator(answers->end())};
}

// The calls that are queued at the worker, and the last reported state of the file. Shared,
// since an answer or an event may destroy the origin.
//
// Owned by the thread of the loop.
class FileCalls : public std::enable_shared_from_this<FileCalls> {
  public:
    FileCalls(boost::asio::io_context& loop, const SqliteOriginOptions& options)
        : path_(options.path), timeout_(options.timeout), timer_(loop), probe_timer_(loop) {}

    std::optional<Error> open(boost::asio::io_context& loop,
                              std::unique_ptr<ComponentFile> file,
                              OnThreadFailure on_thread_failure);
    void start(OriginEvents events);
    // Afterwards no call is answered.
    void stop();

    // Runs `work` on the worker's thread; it must not use state of the loop's thread.
    template <class T>
    void call(FileAccess access, Work<T> work, std::function<void(std::optional<T>)> answered);
    void heartbeat(std::function<void(HeartbeatAnswer)> done);

  private:
    enum class Outcome : std::uint8_t { kEnded, kTimedOut };
    struct Call {
        JobId job;
        FileAccess access;
        Time deadline;
        std::function<void(Outcome)> answer;
    };

    bool is_stuck() const { return stuck_ && worker_->is_underway(*stuck_); }
    void on_ended(JobId job, const std::optional<Error>& error);
    void on_timer();
    void set_timer();
    void end_first(Outcome outcome);
    void report(FileAccess access, const std::optional<Error>& error);
    void report_available();
    void report_unavailable(const std::string& why);
    void probe_later();

    const std::string path_;
    const milliseconds timeout_;
    std::unique_ptr<FileWorker> worker_;
    OriginEvents events_;
    std::deque<Call> calls_;  // in the order of jobs, and so of deadlines
    boost::asio::steady_timer timer_;
    bool is_timer_set_ = false;
    boost::asio::steady_timer probe_timer_;
    std::string unavailable_;     // why; empty while it is available
    std::optional<JobId> stuck_;  // the last job that was underway at its deadline
    bool is_stopped_ = false;
};

std::optional<Error> FileCalls::open(boost::asio::io_context& loop,
                                     std::unique_ptr<ComponentFile> file,
                                     OnThreadFailure on_thread_failure) {
    auto worker = FileWorker::start(
        loop,
        std::move(file),
        [weak = weak_from_this()](JobId job, const std::optional<Error>& error) {
            const auto self = weak.lock();
            if (self && !self->is_stopped_) self->on_ended(job, error);
        },
        std::move(on_thread_failure));
    if (!worker) return std::move(worker).error();
    worker_ = *std::move(worker);
    return std::nullopt;
}

void FileCalls::start(OriginEvents events) {
    events_ = std::move(events);
    if (events_.available) events_.available(true);
}

void FileCalls::stop() {
    is_stopped_ = true;
    timer_.cancel();
    probe_timer_.cancel();
    calls_.clear();
    worker_.reset();
}

template <class T>
void FileCalls::call(FileAccess access,
                     Work<T> work,
                     std::function<void(std::optional<T>)> answered) {
    const Time deadline = Time::clock::now() + timeout_;
    // The worker writes it before it reports the end of the job; only then is it read.
    const auto value = std::make_shared<std::optional<T>>();
    std::optional<JobId> job;
    if (!is_stuck()) job = worker_->push(deadline, job_of(std::move(work), value));
    if (!job) return answered(std::nullopt);
    auto answer = [value, answered = std::move(answered)](Outcome outcome) {
        answered(outcome == Outcome::kEnded ? std::move(*value) : std::nullopt);
    };
    calls_.push_back(
        {.job = *job, .access = access, .deadline = deadline, .answer = std::move(answer)});
    set_timer();
}

void FileCalls::heartbeat(std::function<void(HeartbeatAnswer)> done) {
    call<Heartbeat>(
        FileAccess::kWrite,
        [](ComponentFile& file) -> Result<Heartbeat> {
            if (auto error = file.heartbeat()) return *std::move(error);
            return Heartbeat{};
        },
        std::move(done));
}

void FileCalls::on_ended(JobId job, const std::optional<Error>& error) {
    // The worker dropped those before it, since their deadlines had passed.
    while (!is_stopped_ && !calls_.empty() && calls_.front().job < job)
        end_first(Outcome::kTimedOut);
    if (is_stopped_) return;
    if (calls_.empty() || calls_.front().job != job) {  // it was answered at its deadline
        if (!error) report_available();
        return;
    }
    report(calls_.front().access, error);
    if (!is_stopped_) end_first(Outcome::kEnded);
}

void FileCalls::on_timer() {
    is_timer_set_ = false;
    const Time now = Time::clock::now();
    while (!is_stopped_ && !calls_.empty() && calls_.front().deadline <= now) {
        if (worker_->is_underway(calls_.front().job)) {
            stuck_ = calls_.front().job;
            report_unavailable("counts of the region in " + path_ + ": a call has taken " +
                               std::to_string(timeout_.count()) + " ms and has not ended");
        }
        if (!is_stopped_) end_first(Outcome::kTimedOut);
    }
    if (!is_stopped_) set_timer();
}

// It is not set anew for each call: it may find nothing due.
void FileCalls::set_timer() {
    if (is_timer_set_ || calls_.empty()) return;
    is_timer_set_ = true;
    timer_.expires_at(calls_.front().deadline);
    timer_.async_wait([weak = weak_from_this()](boost::system::error_code cancelled) {
        const auto self = weak.lock();
        if (self && !cancelled && !self->is_stopped_) self->on_timer();
    });
}

void FileCalls::end_first(Outcome outcome) {
    const Call call = std::move(calls_.front());
    calls_.pop_front();
    call.answer(outcome);
}

void FileCalls::report(FileAccess access, const std::optional<Error>& error) {
    if (!error) return report_available();
    if (access == FileAccess::kRead) return report_unavailable(error->message);
    if (events_.write_refused) events_.write_refused(error->message);
}

void FileCalls::report_available() {
    if (unavailable_.empty()) return;
    unavailable_.clear();
    if (events_.available) events_.available(true);
}

void FileCalls::report_unavailable(const std::string& why) {
    if (why == unavailable_) return;
    if (unavailable_.empty()) probe_later();
    unavailable_ = why;
    if (events_.unavailable) events_.unavailable(why);
}

void FileCalls::probe_later() {
    probe_timer_.expires_after(kProbe);
    probe_timer_.async_wait([weak = weak_from_this()](boost::system::error_code cancelled) {
        const auto self = weak.lock();
        if (!self || cancelled || self->is_stopped_ || self->unavailable_.empty()) return;
        self->probe_later();
        self->heartbeat([](const HeartbeatAnswer&) {});
    });
}

// Owned by one thread, as its port says.
class SqliteOrigin final : public Origin {
  public:
    SqliteOrigin(std::string node, std::shared_ptr<FileCalls> calls)
        : node_(std::move(node)), calls_(std::move(calls)) {}
    ~SqliteOrigin() override { calls_->stop(); }
    SqliteOrigin(const SqliteOrigin&) = delete;
    SqliteOrigin& operator=(const SqliteOrigin&) = delete;

    void start(OriginEvents events) override {
        const auto calls = calls_;
        calls->start(std::move(events));
    }

    void sync(std::vector<KeyComponents> keys, Synced synced) override {
        const FileAccess access = ComponentFile::access_of_sync(keys);
        call(access, std::move(keys), &ComponentFile::sync, std::move(synced));
    }

    void spend(std::vector<KeySpend> keys, Spent spent) override {
        call(FileAccess::kWrite, std::move(keys), &ComponentFile::spend, std::move(spent));
    }

    void heartbeat(HeartbeatDone done) override {
        const auto calls = calls_;
        calls->heartbeat([this, done = std::move(done)](HeartbeatAnswer heartbeat) {
            if (heartbeat) heartbeat->has_joined = !std::exchange(has_joined_, true);
            done(heartbeat);
        });
    }

    void list(std::vector<CellName> cells, Listed listed) override {
        call(FileAccess::kRead, std::move(cells), &ComponentFile::list, std::move(listed));
    }

    std::string node() const override { return node_; }

  private:
    template <class Key, class T, class Answer>
    void call(FileAccess access,
              std::vector<Key> keys,
              Result<std::vector<T>> (ComponentFile::*method)(const std::vector<Key>&),
              std::function<void(std::vector<Answer>)> answered) {
        const auto calls = calls_;  // the answer may destroy the origin
        const std::size_t size = keys.size();
        calls->call<std::vector<T>>(
            access,
            [keys = std::move(keys), method](ComponentFile& file) { return (file.*method)(keys); },
            [size, answered = std::move(answered)](std::optional<std::vector<T>> answers) {
                answered(by_key<Answer>(std::move(answers), size));
            });
    }

    const std::string node_;
    const std::shared_ptr<FileCalls> calls_;
    bool has_joined_ = false;  // a heartbeat was answered
};

}  // namespace

Result<std::unique_ptr<Origin>> open_sqlite_origin(boost::asio::io_context& loop,
                                                   SqliteOriginOptions options) {
    if (options.timeout <= milliseconds::zero())
        return Error{kInvalidOption,
                     "the timeout of the SQLite origin is " +
                         std::to_string(options.timeout.count()) + " ms; allowed is 1 ms and more"};
    if (options.node.empty())
        return Error{kInvalidOption,
                     "the node's name in the SQLite origin is \"" + options.node +
                         "\"; allowed is any text but that"};
    const auto calls = std::make_shared<FileCalls>(loop, options);
    std::string node = options.node;
    OnThreadFailure on_thread_failure = std::move(options.on_thread_failure);
    auto file = ComponentFile::open(std::move(options));
    if (!file) return std::move(file).error();
    if (auto error = calls->open(loop, *std::move(file), std::move(on_thread_failure)))
        return *std::move(error);
    return std::unique_ptr<Origin>(new SqliteOrigin(std::move(node), calls));
}

}  // namespace sluice
