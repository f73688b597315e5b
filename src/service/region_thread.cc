#include "service/region_thread.h"

#include <algorithm>
#include <new>

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/post.hpp>

#include "base/random.h"
#include "service/open_origin.h"

namespace sluice {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

// How long start() waits for the first answer of the origin.
constexpr milliseconds kFirstAnswer{1'000};

using Alarm = std::optional<steady_clock::time_point>;

Alarm earlier(Alarm a, Alarm b) {
    return a && b ? std::min(*a, *b) : a ? a : b;
}

}  // namespace

Result<std::unique_ptr<RegionThread>> RegionThread::start(Table& table,
                                                          const Options& options,
                                                          std::function<void(Entry&)> counted) {
    std::unique_ptr<RegionThread> thread(new RegionThread(table, options));
    if (auto failed = thread->run(options, std::move(counted))) return *std::move(failed);
    return thread;
}

RegionThread::RegionThread(Table& table, const Options& options)
    : table_(table),
      timeout_(options.origin_timeout),
      on_change_(options.on_origin_change),
      on_key_error_(options.on_origin_key_error),
      on_clock_offset_(options.on_origin_clock_offset),
      deadline_thread_(timeout_ + kGrace),
      work_(loop_.get_executor()),
      alarm_(loop_) {}

// Where the start has failed, the members end what there is.
RegionThread::~RegionThread() {
    if (thread_id_ == std::thread::id{}) return;
    stop(steady_clock::now());
    static_cast<void>(join(steady_clock::now() + kLastTurn));
}

std::optional<Error> RegionThread::run(const Options& options,
                                       std::function<void(Entry&)> counted) {
    auto opened = open_origin(options, loop_);
    if (!opened) return std::move(opened).error();
    origin_ = *std::move(opened);
    node_ = origin_->node();
    region_.emplace(table_,
                    *origin_,
                    Region::Config{.seed = system_random(),
                                   .request_timeout = timeout_,
                                   .again = [this] { wake(); },
                                   .counted = std::move(counted),
                                   .changed =
                                       [this](bool unavailable, const std::string& why) {
                                           report_change({unavailable, why});
                                           if (!std::exchange(has_answered_, true))
                                               first_answer_.set_value();
                                       },
                                   .key_failed =
                                       [this](const std::string& why) {
                                           if (on_key_error_ && !is_stopping()) on_key_error_(why);
                                       },
                                   .clock_offset =
                                       [this](milliseconds offset) {
                                           if (on_clock_offset_ && !is_stopping())
                                               on_clock_offset_(offset);
                                       }});
    decider_.emplace(*region_, deadlines_);
    deadline_thread_.start(options.on_thread_failure);
    std::future<void> first_answer = first_answer_.get_future();
    asio::post(loop_, [this] { region_->start(); });
    const auto on_failure = [this,
                             report = options.on_thread_failure](const ThreadFailure& failure) {
        end_failed();
        if (report) report(failure);
        report_change({true, "the thread of the origin has failed: " + std::string(failure.why)});
    };
    thread_ = start_thread(
        {.name = "sluice-region", .on_failure = on_failure, .after_failure = AfterFailure::kEnd},
        [this] {
            loop_.run();
            ended_.set_value();
        });
    thread_id_ = thread_.get_id();
    first_answer.wait_for(kFirstAnswer);
    return std::nullopt;
}

bool RegionThread::is_unavailable() const {
    return region_->is_unavailable() || made_.is_in_child() ||
           is_stuck_.load(std::memory_order_relaxed) || is_stopping();
}

bool RegionThread::is_own_thread() const {
    return std::this_thread::get_id() == thread_id_ || deadline_thread_.is_this_thread();
}

bool RegionThread::defer(const std::shared_ptr<PendingDecision>& pending, Time since) {
    pending->begin(since + timeout_, [this](const PendingDecision& done) { forget(done); });
    const std::size_t before = pending_.fetch_add(pending->size(), std::memory_order_relaxed);
    if (before >= kMaxPending) {
        overflows_.fetch_add(1, std::memory_order_relaxed);
    } else if (enqueue(pending)) {
        wake();
        return true;
    }
    decider_->expire(*pending);
    return false;
}

void RegionThread::expire(PendingDecision& pending) {
    // Only the region's thread can find out that it works again.
    if (decider_->expire(pending)) is_stuck_.store(true, std::memory_order_relaxed);
}

void RegionThread::list(std::vector<CellName> cells, Origin::Listed listed) {
    if (made_.is_in_child()) return listed(std::vector<std::optional<CellListing>>(cells.size()));
    const auto call = std::make_shared<PendingList>(
        std::move(cells), std::move(listed), steady_clock::now() + 2 * timeout_ + kGrace);
    if (enqueue(call)) return wake();
    forget(*call);
}

void RegionThread::leave_note(std::string note, Limiter::Notes read) {
    Origin::NotesRead shared;
    if (read) {
        // Shared, since origins copy their callbacks.
        shared = [this, held = std::make_shared<Limiter::Notes>(std::move(read))](
                     std::optional<std::vector<NodeNote>> notes) {
            if (!is_stopping()) (*held)(std::move(notes));
        };
    }
    const auto refuse = [](const Origin::NotesRead& reader) {
        if (reader) reader(std::nullopt);
    };
    if (made_.is_in_child() || is_stuck_.load(std::memory_order_relaxed)) return refuse(shared);
    asio::post(loop_, [this, refuse, note = std::move(note), shared = std::move(shared)]() mutable {
        if (is_unavailable()) return refuse(shared);
        origin_->leave_note(std::move(note), std::move(shared));
    });
}

void RegionThread::stop(Time flushed_by) {
    if (stage_.load(std::memory_order_relaxed) != Stage::kRunning) return;
    std::future<void> flushed = flushed_.get_future();
    stage_.store(Stage::kFlushing, std::memory_order_relaxed);
    wake();
    flushed.wait_until(flushed_by);
    // From here on decisions are made from local counts.
    stage_.store(Stage::kStopping, std::memory_order_relaxed);
    wake();
    end_ = ended_.get_future();
}

bool RegionThread::join(Time last) {
    if (!thread_.joinable()) return deadline_thread_.stop(last);
    const bool has_ended = end_.wait_until(last) == std::future_status::ready;
    if (has_ended) thread_.join();
    {
        const MutexLock lock(mutex_);
        has_ended_ = true;
    }
    // Finishes what other threads deferred before they saw that it is closed.
    deadline_thread_.expire_all();
    return deadline_thread_.stop(last) && has_ended;
}

OriginStats RegionThread::stats() const {
    OriginStats stats = region_->stats();
    stats.unavailable = is_unavailable();
    stats.fallbacks = decider_->fallbacks();
    stats.queue_overflows = overflows_.load(std::memory_order_relaxed);
    return stats;
}

// False if no thread reads the queue any more, it is full, or there is no memory.
bool RegionThread::enqueue(const std::shared_ptr<PendingDecision>& pending) try {
    deadline_thread_.add(key_of(*pending), [this, pending] { expire(*pending); });
    const MutexLock lock(mutex_);
    if (!has_ended_) queued_.push_back(pending);
    return !has_ended_;
} catch (const std::bad_alloc&) {
    return false;
}

bool RegionThread::enqueue(const std::shared_ptr<PendingList>& call) try {
    deadline_thread_.add(call->key(), [call] { call->answer_nothing(); });
    const MutexLock lock(mutex_);
    if (has_ended_ || lists_.size() >= kMaxLists) return false;
    lists_.push_back(call);
    return true;
} catch (const std::bad_alloc&) {
    return false;
}

// After it was finished.
void RegionThread::forget(const PendingDecision& pending) {
    deadline_thread_.remove(key_of(pending));
    pending_.fetch_sub(pending.size(), std::memory_order_relaxed);
}

void RegionThread::forget(PendingList& call) {
    call.answer_nothing();  // unless it was answered
    deadline_thread_.remove(call.key());
}

void RegionThread::report_change(const OriginChange& change) {
    if (on_change_ && !is_stopping()) on_change_(change);
}

// Posts a turn, from any thread. At most one is posted, in memory of its own: this never fails.
void RegionThread::wake() {
    if (made_.is_in_child()) return;  // the loop's locks may be held for ever
    if (is_turn_posted_.exchange(true, std::memory_order_acq_rel)) return;
    asio::post(loop_, asio::bind_allocator(turn_memory_.allocator(), [this] {
                   is_turn_posted_.exchange(false, std::memory_order_acq_rel);
                   step();
               }));
}

void RegionThread::step() {
    is_stuck_.store(false, std::memory_order_relaxed);
    begin_queued();
    deadlines_.end_due(steady_clock::now());
    const Stage stage = stage_.load(std::memory_order_relaxed);
    if (stage == Stage::kStopping) return end();
    if (stage == Stage::kFlushing && !std::exchange(has_begun_flush_, true)) region_->begin_stop();
    region_->step();
    set_alarm();
    // An origin that refuses writes, such as one on a full disk, does not use up the time to stop.
    const bool is_done = region_->is_settled() || region_->refuses_writes();
    if (stage == Stage::kFlushing && is_done && !std::exchange(is_flushed_, true))
        flushed_.set_value();
}

void RegionThread::begin_queued() {
    std::vector<std::shared_ptr<PendingDecision>> queued;
    std::vector<std::shared_ptr<PendingList>> lists;
    {
        const MutexLock lock(mutex_);
        queued.swap(queued_);
        lists.swap(lists_);
    }
    for (const auto& pending : queued) {
        try {
            decider_->begin(pending);
        } catch (const std::bad_alloc&) {
            decider_->expire(*pending);
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

void RegionThread::begin_list(const std::shared_ptr<PendingList>& call) {
    if (is_unavailable()) return forget(*call);
    const DeadlineQueue::Name wait =
        deadlines_.add(steady_clock::now() + 2 * timeout_, [this, call] { forget(*call); });
    origin_->list(call->cells(), [this, wait, call](auto listings) {
        call->answer(std::move(listings));
        deadlines_.end(wait);
    });
}

// The last turn.
void RegionThread::end() {
    region_->give_up();
    deadlines_.end_all();
    loop_.stop();
}

// An exception has ended the thread. A count may be in none of the queues, so nothing is flushed
// any more, and decisions are made from local counts.
void RegionThread::end_failed() {
    is_stuck_.store(true, std::memory_order_relaxed);
    {
        const MutexLock lock(mutex_);
        has_ended_ = true;
    }
    if (!std::exchange(is_flushed_, true)) flushed_.set_value();
    ended_.set_value();
}

// An alarm that comes too early costs less than setting it anew.
void RegionThread::set_alarm() {
    const auto at = earlier(region_->wake_at(), deadlines_.wake_at());
    if (!at || (alarm_set_ && *alarm_set_ <= *at)) return;
    alarm_set_ = at;
    alarm_.expires_at(*at);
    alarm_.async_wait([this](error_code cancelled) {
        if (cancelled) return;
        alarm_set_.reset();
        step();
    });
}

}  // namespace sluice
