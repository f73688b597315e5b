#include "service/region_thread.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/mutex.h"
#include "base/random.h"
#include "service/asking.h"
#include "service/open_origin.h"
#include "service/waits.h"

namespace sluice {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

// How long a start waits to hear whether the origin is there.
constexpr milliseconds kFirstWord{1'000};

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
          work_(loop_.get_executor()),
          alarm_(loop_) {}

    ~Core() { close(milliseconds{0}); }

    std::optional<Error> start(const Options& options, std::function<void(Entry&)> counted) {
        auto opened = open_origin(
            options, loop_, [this](const std::string& why) { region_->note_refusal(why); });
        if (!opened) return std::move(opened).error();
        origin_ = std::move(opened->origin);
        node_ = origin_->node();
        region_.emplace(table_,
                        *origin_,
                        Region::Config{.kind = opened->kind,
                                       .seed = system_random(),
                                       .again = [this] { again(); },
                                       .counted = std::move(counted),
                                       .changed =
                                           [this](bool away, const std::string& why) {
                                               if (on_change_) on_change_({away, why});
                                               first_word();
                                           }});
        asking_.emplace(
            *region_, waits_, Asking::Config{.kind = opened->kind, .timeout = timeout_});
        std::future<void> first_word = first_word_.get_future();
        thread_ = std::thread([this] { loop_.run(); });
        thread_id_ = thread_.get_id();
        asio::post(loop_, [this] { region_->start(); });
        first_word.wait_for(kFirstWord);
        return std::nullopt;
    }

    bool is_away() const {
        return region_->is_away() || is_closed_.load(std::memory_order_relaxed);
    }
    bool is_this_thread() const { return std::this_thread::get_id() == thread_id_; }
    const std::string& node() const { return node_; }

    void ask(std::shared_ptr<Question> question) {
        {
            const MutexLock lock(mutex_);
            if (!has_ended_) {
                return asio::post(loop_, [this, question = std::move(question)] {
                    asking_->begin(question);
                    set_alarm();
                });
            }
        }
        asking_->decide_now(*question);
    }

    void list(std::vector<CellName> cells, Origin::Listed listed) {
        {
            const MutexLock lock(mutex_);
            if (!has_ended_) {
                return asio::post(loop_, [this, cells, listed = std::move(listed)]() mutable {
                    begin_list(std::move(cells), std::move(listed));
                });
            }
        }
        listed(std::vector<std::optional<CellListing>>(cells.size()));
    }

    void close(milliseconds patience) {
        if (!thread_.joinable()) return;
        const auto settled = std::make_shared<std::promise<void>>();
        std::future<void> end = settled->get_future();
        asio::post(loop_, [this, settled] {
            settled_ = settled;
            region_->stop_resting();
            step();
        });
        end.wait_for(patience);
        // From here on decisions are made by what is held.
        is_closed_.store(true, std::memory_order_relaxed);
        const auto finished = std::make_shared<std::promise<void>>();
        asio::post(loop_, [this, finished] {
            has_stopped_ = true;
            settled_.reset();
            region_->give_up();
            waits_.end_all();
            finished->set_value();
        });
        finished->get_future().wait();
        loop_.stop();
        thread_.join();
        {
            const MutexLock lock(mutex_);
            has_ended_ = true;
        }
        // What others asked before they saw that it is closed is answered as well.
        loop_.restart();
        loop_.poll();
        waits_.end_all();
    }

    Counts counts() const {
        return {.region = region_->counts(), .fallbacks = asking_->fallbacks()};
    }
    void count_fallback(UnixTime now) { asking_->count_fallback(now); }

  private:
    void first_word() {
        if (std::exchange(has_spoken_, true)) return;
        first_word_.set_value();
    }

    // From any thread. One turn at a time is waiting.
    void again() {
        if (is_turn_waiting_.exchange(true, std::memory_order_acq_rel)) return;
        asio::post(loop_, [this] {
            is_turn_waiting_.store(false, std::memory_order_release);
            step();
        });
    }

    void step() {
        if (has_stopped_) return;
        waits_.end_due(steady_clock::now());
        region_->step();
        set_alarm();
        if (settled_ != nullptr && region_->is_settled())
            std::exchange(settled_, nullptr)->set_value();
    }

    void set_alarm() {
        const auto at = earlier(region_->wake_at(), waits_.wake_at());
        if (at == alarm_set_ || has_stopped_) return;
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

    void begin_list(std::vector<CellName> cells, Origin::Listed listed) {
        const std::size_t size = cells.size();
        const auto finished = std::make_shared<Origin::Listed>(std::move(listed));
        const auto finish = [finished](std::vector<std::optional<CellListing>> listings) {
            if (const auto last = std::exchange(*finished, nullptr)) last(std::move(listings));
        };
        if (is_away() || has_stopped_) return finish(std::vector<std::optional<CellListing>>(size));
        const Waits::Name wait = waits_.add(steady_clock::now() + 2 * timeout_, [finish, size] {
            finish(std::vector<std::optional<CellListing>>(size));
        });
        set_alarm();
        origin_->list(std::move(cells), [this, wait, finish](auto listings) {
            finish(std::move(listings));
            waits_.end(wait);
        });
    }

    Table& table_;
    const milliseconds timeout_;
    const std::function<void(const OriginChange&)> on_change_;
    asio::io_context loop_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    asio::steady_timer alarm_;
    Alarm alarm_set_;
    Waits waits_;
    // The origin goes first: destroying it answers nothing.
    std::optional<Region> region_;
    std::optional<Asking> asking_;
    std::unique_ptr<Origin> origin_;
    std::string node_;
    bool has_stopped_ = false;  // nothing is begun any more
    std::promise<void> first_word_;
    bool has_spoken_ = false;
    std::shared_ptr<std::promise<void>> settled_;  // while somebody waits for all to be told
    // Set by whoever wants a turn, cleared when it begins: what was written before it was wanted is
    // seen in it.
    std::atomic<bool> is_turn_waiting_{false};
    // Relaxed: who misses it asks, and is answered all the same.
    std::atomic<bool> is_closed_{false};
    Mutex mutex_;
    bool has_ended_ SLUICE_GUARDED_BY(mutex_) = false;  // nobody runs the loop any more
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

bool RegionThread::is_away() const {
    return core_->is_away();
}

bool RegionThread::is_this_thread() const {
    return core_->is_this_thread();
}

void RegionThread::ask(std::shared_ptr<Question> question) {
    core_->ask(std::move(question));
}

void RegionThread::list(std::vector<CellName> cells, Origin::Listed listed) {
    core_->list(std::move(cells), std::move(listed));
}

const std::string& RegionThread::node() const {
    return core_->node();
}

void RegionThread::close(milliseconds patience) {
    core_->close(patience);
}

RegionThread::Counts RegionThread::counts() const {
    return core_->counts();
}

void RegionThread::count_fallback(UnixTime now) {
    core_->count_fallback(now);
}

}  // namespace sluice
