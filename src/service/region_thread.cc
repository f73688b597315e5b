#include "service/region_thread.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/fork.h"
#include "base/mutex.h"
#include "base/random.h"
#include "service/asking.h"
#include "service/deadline_queue.h"
#include "service/deadline_thread.h"
#include "service/open_origin.h"
#include "service/pending_list.h"
#include "service/turn_memory.h"

namespace sluice {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

// How long a start waits to hear whether the origin is there.
constexpr milliseconds kFirstWord{1'000};

// How long an end waits for a thread that may be stuck in a call.
constexpr milliseconds kLastTurn{1'000};

using Alarm = std::optional<steady_clock::time_point>;

Alarm earlier(Alarm a, Alarm b) {
    return a && b ? std::min(*a, *b) : a ? a : b;
}

}  // namespace

class RegionThread::Core {
  public:
    Core(Table& table, const Options& options)
        : table_(table),
          timeout_(options.origin_timeout),
          on_change_(options.on_origin_change),
          on_clock_offset_(options.on_origin_clock_offset),
          deadlines_(timeout_ + kGrace),
          work_(loop_.get_executor()),
          alarm_(loop_) {}

    // Where the start has failed, the members end what there is.
    ~Core() {
        if (thread_id_ != std::thread::id{}) static_cast<void>(close(milliseconds{0}));
    }

    std::optional<Error> start(const Options& options, std::function<void(Entry&)> counted) {
        auto opened = open_origin(options, loop_);
        if (!opened) return std::move(opened).error();
        origin_ = *std::move(opened);
        node_ = origin_->node();
        region_.emplace(table_,
                        *origin_,
                        Region::Config{.seed = system_random(),
                                       .again = [this] { again(); },
                                       .counted = std::move(counted),
                                       .changed =
                                           [this](bool unavailable, const std::string& why) {
                                               tell_change({unavailable, why});
                                               first_word();
                                           },
                                       .clock_offset =
                                           [this](milliseconds offset) {
                                               if (on_clock_offset_) on_clock_offset_(offset);
                                           }});
        asking_.emplace(*region_, waits_);
        deadlines_.start();
        std::future<void> first_word = first_word_.get_future();
        asio::post(loop_, [this] { region_->start(); });
        thread_ = std::thread([this] {
            loop_.run();
            ended_.set_value();
        });
        thread_id_ = thread_.get_id();
        first_word.wait_for(kFirstWord);
        return std::nullopt;
    }

    bool is_unavailable() const {
        return region_->is_unavailable() || made_.is_in_child() ||
               is_stuck_.load(std::memory_order_relaxed) ||
               stage_.load(std::memory_order_relaxed) == Stage::kStopping;
    }
    bool is_own_thread() const {
        return std::this_thread::get_id() == thread_id_ || deadlines_.is_this_thread();
    }
    const std::string& node() const { return node_; }

    std::shared_ptr<PendingQuestion> ask(std::shared_ptr<Question> asked, Time since) {
        std::shared_ptr<PendingQuestion> question;
        try {
            question = std::make_shared<PendingQuestion>(
                asked, since + timeout_, [this](const PendingQuestion& done) { forget(done); });
        } catch (const std::bad_alloc&) {  // nobody else has it
            asking_->count_fallback();
            asked->decide();
            asked->finish();
            return nullptr;
        }
        const std::size_t before = pending_.fetch_add(question->size(), std::memory_order_relaxed);
        if (before >= kMostPending) {
            overflows_.fetch_add(1, std::memory_order_relaxed);
        } else if (enqueue(question)) {
            again();
            return question;
        }
        asking_->expire(*question);
        return nullptr;
    }

    void expire(PendingQuestion& question) {
        // Only the region's thread can tell that it works again.
        if (asking_->expire(question)) is_stuck_.store(true, std::memory_order_relaxed);
    }

    void list(std::vector<CellName> cells, Origin::Listed listed) {
        if (made_.is_in_child())
            return listed(std::vector<std::optional<CellListing>>(cells.size()));
        const auto call = std::make_shared<PendingList>(
            std::move(cells), std::move(listed), steady_clock::now() + 2 * timeout_ + kGrace);
        if (enqueue(call)) return again();
        forget(*call);
    }

    // True if the thread has ended.
    bool close(milliseconds patience) {
        if (!thread_.joinable()) return deadlines_.stop(steady_clock::now() + kLastTurn);
        if (stage_.load(std::memory_order_relaxed) == Stage::kRunning) {
            std::future<void> settled = settled_.get_future();
            stage_.store(Stage::kSettling, std::memory_order_relaxed);
            again();
            settled.wait_for(patience);
            // From here on decisions are made by what is held.
            stage_.store(Stage::kStopping, std::memory_order_relaxed);
            again();
            end_ = ended_.get_future();
        }
        const bool has_ended = end_.wait_for(kLastTurn) == std::future_status::ready;
        if (has_ended) thread_.join();
        {
            const MutexLock lock(mutex_);
            has_ended_ = true;
        }
        // What others asked before they saw that it is closed is answered as well.
        deadlines_.expire_all();
        return deadlines_.stop(steady_clock::now() + kLastTurn) && has_ended;
    }

    Stats stats() const {
        return {.region = region_->stats(),
                .fallbacks = asking_->fallbacks(),
                .overflows = overflows_.load(std::memory_order_relaxed)};
    }
    void count_fallback() { asking_->count_fallback(); }

  private:
    // How many listings wait at a time.
    static constexpr std::size_t kMostLists = 64;

    enum class Stage { kRunning, kSettling, kStopping };

    // False if nobody reads the queue any more, it is full, or there is no memory.
    bool enqueue(const std::shared_ptr<PendingQuestion>& question) try {
        deadlines_.add(key_of(*question), [this, question] { expire(*question); });
        const MutexLock lock(mutex_);
        if (!has_ended_) asked_.push_back(question);
        return !has_ended_;
    } catch (const std::bad_alloc&) {
        return false;
    }
    bool enqueue(const std::shared_ptr<PendingList>& call) try {
        deadlines_.add(call->key(), [call] { call->answer_nothing(); });
        const MutexLock lock(mutex_);
        if (has_ended_ || lists_.size() >= kMostLists) return false;
        lists_.push_back(call);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
    static DeadlineThread::Key key_of(const PendingQuestion& question) {
        return {question.deadline() + kGrace, &question};
    }
    // After it was finished.
    void forget(const PendingQuestion& question) {
        deadlines_.remove(key_of(question));
        pending_.fetch_sub(question.size(), std::memory_order_relaxed);
    }
    void forget(PendingList& call) {
        call.answer_nothing();  // unless it was answered
        deadlines_.remove(call.key());
    }

    // Not while it ends: a thread that was stuck may come here after the limiter is gone.
    void tell_change(const OriginChange& change) {
        if (on_change_ && stage_.load(std::memory_order_relaxed) != Stage::kStopping)
            on_change_(change);
    }

    void first_word() {
        if (std::exchange(has_spoken_, true)) return;
        first_word_.set_value();
    }

    // From any thread. One turn at a time is waiting, in memory of its own: this never fails.
    void again() {
        if (made_.is_in_child()) return;  // the loop's locks may be held for ever
        if (is_turn_waiting_.exchange(true, std::memory_order_acq_rel)) return;
        asio::post(loop_, asio::bind_allocator(turn_memory_.allocator(), [this] {
                       is_turn_waiting_.exchange(false, std::memory_order_acq_rel);
                       step();
                   }));
    }

    void step() {
        is_stuck_.store(false, std::memory_order_relaxed);
        begin_asked();
        waits_.end_due(steady_clock::now());
        const Stage stage = stage_.load(std::memory_order_relaxed);
        if (stage == Stage::kStopping) return end();
        if (stage == Stage::kSettling && !std::exchange(is_hurried_, true)) region_->begin_stop();
        region_->step();
        set_alarm();
        if (stage == Stage::kSettling && region_->is_settled() && !std::exchange(is_settled_, true))
            settled_.set_value();
    }

    void begin_asked() {
        std::vector<std::shared_ptr<PendingQuestion>> asked;
        std::vector<std::shared_ptr<PendingList>> lists;
        {
            const MutexLock lock(mutex_);
            asked.swap(asked_);
            lists.swap(lists_);
        }
        for (const auto& question : asked) {
            try {
                asking_->begin(question);
            } catch (const std::bad_alloc&) {
                asking_->expire(*question);
            }
        }
        for (const auto& call : lists) {
            try {
                begin_list(call);
            } catch (const std::bad_alloc&) {
                forget(*call);
            }
        }
    }

    // The last turn.
    void end() {
        region_->give_up();
        waits_.end_all();
        loop_.stop();
    }

    void set_alarm() {
        const auto at = earlier(region_->wake_at(), waits_.wake_at());
        if (at == alarm_set_) return;
        alarm_set_ = at;
        if (!at) {
            alarm_.cancel();
            return;
        }
        alarm_.expires_at(*at);
        alarm_.async_wait([this](error_code cancelled) {
            if (cancelled) return;
            alarm_set_.reset();
            step();
        });
    }

    void begin_list(const std::shared_ptr<PendingList>& call) {
        if (is_unavailable()) return forget(*call);
        const DeadlineQueue::Name wait =
            waits_.add(steady_clock::now() + 2 * timeout_, [this, call] { forget(*call); });
        origin_->list(call->cells(), [this, wait, call](auto listings) {
            call->answer(std::move(listings));
            waits_.end(wait);
        });
    }

    const ForkMark made_;
    Table& table_;
    const milliseconds timeout_;
    const std::function<void(const OriginChange&)> on_change_;
    const std::function<void(milliseconds)> on_clock_offset_;
    DeadlineThread deadlines_;
    TurnMemory turn_memory_;
    asio::io_context loop_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    asio::steady_timer alarm_;
    Alarm alarm_set_;
    DeadlineQueue waits_;
    // The origin goes first: destroying it answers nothing.
    std::optional<Region> region_;
    std::optional<Asking> asking_;
    std::unique_ptr<Origin> origin_;
    std::string node_;
    std::promise<void> first_word_;
    bool has_spoken_ = false;
    std::promise<void> settled_;  // all was told, after it was asked to
    bool is_hurried_ = false;     // it was asked to
    bool is_settled_ = false;
    std::promise<void> ended_;  // by the thread's last step
    std::future<void> end_;     // the closing thread's
    // Set by whoever wants a turn, cleared when it begins: what was written before it was wanted is
    // seen in it.
    std::atomic<bool> is_turn_waiting_{false};
    // Written by close(), read by any. Relaxed: the turn that it then asks for sees it; a caller
    // that misses it asks, and is answered all the same.
    std::atomic<Stage> stage_{Stage::kRunning};
    // Another thread had to decide a question, and the region's has made no step since. Relaxed: a
    // hint not to wait for it.
    std::atomic<bool> is_stuck_{false};
    // Requests whose questions are not finished; relaxed, as the next: each stands for itself.
    std::atomic<std::size_t> pending_{0};
    std::atomic<std::uint64_t> overflows_{0};
    Mutex mutex_;
    std::vector<std::shared_ptr<PendingQuestion>> asked_ SLUICE_GUARDED_BY(mutex_);
    std::vector<std::shared_ptr<PendingList>> lists_ SLUICE_GUARDED_BY(mutex_);
    bool has_ended_ SLUICE_GUARDED_BY(mutex_) = false;  // nobody reads the two any more
    std::thread thread_;
    std::thread::id thread_id_;  // constant after the start
};

Result<std::unique_ptr<RegionThread>> RegionThread::start(Table& table,
                                                          const Options& options,
                                                          std::function<void(Entry&)> counted) {
    auto core = std::make_unique<Core>(table, options);
    if (auto failed = core->start(options, std::move(counted))) return *std::move(failed);
    return std::unique_ptr<RegionThread>(new RegionThread(std::move(core)));
}

RegionThread::RegionThread(std::unique_ptr<Core> core) : core_(std::move(core)) {}
RegionThread::~RegionThread() = default;

bool RegionThread::is_unavailable() const {
    return core_->is_unavailable();
}

bool RegionThread::is_own_thread() const {
    return core_->is_own_thread();
}

std::shared_ptr<PendingQuestion> RegionThread::ask(std::shared_ptr<Question> question, Time since) {
    return core_->ask(std::move(question), since);
}

void RegionThread::expire(PendingQuestion& question) {
    core_->expire(question);
}

void RegionThread::list(std::vector<CellName> cells, Origin::Listed listed) {
    core_->list(std::move(cells), std::move(listed));
}

const std::string& RegionThread::node() const {
    return core_->node();
}

bool RegionThread::close(milliseconds patience) {
    return core_->close(patience);
}

RegionThread::Stats RegionThread::stats() const {
    return core_->stats();
}

void RegionThread::count_fallback() {
    core_->count_fallback();
}

}  // namespace sluice
