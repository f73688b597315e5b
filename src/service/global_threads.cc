#include "service/global_threads.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "base/random.h"
#include "global/stored_name.h"
#include "service/global_store_url.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using Time = TurnThread::Time;

// How often the only node of a region queues changed entries for publishing: more often than it
// publishes, and on a thread that never waits for the store, since entries that are not queued yet
// can't be evicted at the cap.
constexpr milliseconds kPollInterval{100};

// How often refused rows are reported, and how many bytes of a name are shown.
constexpr seconds kRefusalPause{60};
constexpr std::size_t kShownBytes = 64;

// How often a node deletes expired rows, how many at a time, and the pause between deletions.
constexpr seconds kCleanup{60};
constexpr std::size_t kCleanupRows = 1'000;
constexpr milliseconds kCleanupPause{200};

// Why a call failed that threw, most likely for this reason. Short enough to need no memory.
constexpr const char* kFailed = "out of memory";

// The most listings that are pending at a time.
constexpr std::size_t kMaxListings = 64;

std::optional<milliseconds> age(std::optional<Time> then, Time now) {
    if (!then) return std::nullopt;
    return std::chrono::duration_cast<milliseconds>(now - *then);
}

// Never within a character of UTF-8.
std::string cut(const std::string& text) {
    if (text.size() <= kShownBytes) return text;
    std::size_t end = kShownBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
        --end;
    return text.substr(0, end) + "...";
}

}  // namespace

GlobalThreads::GlobalThreads(Table& table, const Options& options, milliseconds test_interval)
    : table_(table),
      is_test_(test_interval != milliseconds{0}),
      cleans_up_(options.global_cleanup && !is_test_),
      poll_interval_(is_test_ ? std::min<milliseconds>(kPollInterval, test_interval / 4)
                              : kPollInterval),
      on_change_(options.on_global_change),
      on_refusal_(options.on_global_refusal),
      // A change that is lost between two queues is not published before the next one.
      writing_thread_{.name = "sluice-publish",
                      .on_failure = options.on_thread_failure,
                      .after_failure = AfterFailure::kEnd},
      reading_thread_{.name = "sluice-import", .on_failure = options.on_thread_failure},
      global_sync_(table,
                   {.region = options.region,
                    .interval = is_test_ ? test_interval : kGlobalInterval,
                    .most_cells = options.global_max_cells,
                    .least_regions = options.global_min_regions,
                    .seed = system_random(),
                    .clock = [] { return steady_clock::now(); },
                    .urged = [this] { writer_.wake(); },
                    .announce = announcer(options)},
                   steady_clock::now()) {}

GlobalThreads::~GlobalThreads() {
    static_cast<void>(close(steady_clock::now(), steady_clock::now() + kLastTurn));
}

Result<std::unique_ptr<GlobalThreads>> GlobalThreads::start(Table& table,
                                                            const Options& options,
                                                            milliseconds test_interval) {
    std::unique_ptr<GlobalThreads> threads(new GlobalThreads(table, options, test_interval));
    if (auto failed = threads->run(options)) return *std::move(failed);
    return threads;
}

std::optional<Error> GlobalThreads::run(const Options& options) {
    const std::string& replica =
        options.global_replica.empty() ? options.global : options.global_replica;
    auto writing = open_global({.url = options.global, .region = options.region});
    if (!writing) return std::move(writing).error();
    auto reading = open_global({.url = replica, .region = options.region});
    if (!reading) return std::move(reading).error();
    writing_ = *std::move(writing);
    reading_ = *std::move(reading);
    if (auto failed = start_bus(options)) return failed;
    try {
        ThreadOptions polling = writing_thread_;
        polling.name = "sluice-changes";
        if (table_.sharing() == Sharing::kSole)
            start_thread(poller_, std::move(polling), &GlobalThreads::poll_changes);
        start_thread(writer_, writing_thread_, &GlobalThreads::write);
        start_thread(reader_, reading_thread_, &GlobalThreads::read);
    } catch (...) {  // no turn has begun: this does not take long
        poller_.stop();
        writer_.stop();
        throw;
    }
    may_begin_.store(true, std::memory_order_release);
    for (TurnThread* thread : {&poller_, &writer_, &reader_})
        thread->wake();
    return std::nullopt;
}

std::function<void(const CellName&, Count)> GlobalThreads::announcer(const Options& options) {
    if (options.bus.empty()) return {};
    return [this](const CellName& cell, Count count) {
        // Acquire: pairs with the release in start_bus(). None before that.
        AnnounceQueue* const queue = announce_queue_.load(std::memory_order_acquire);
        if (queue != nullptr) queue->add(cell, count, steady_clock::now());
    };
}

// Announcements of a time in which the bus was silent may be lost, and are made again.
std::optional<Error> GlobalThreads::start_bus(const Options& options) {
    if (options.bus.empty()) return std::nullopt;
    const Bus::Receivers receivers{.other_region =
                                       [this](const BusMessage& message) {
                                           if (global_sync_.receive(message, wall()))
                                               global_sync_.announce_again();
                                       },
                                   .own_region =
                                       [this](const BusMessage& message) {
                                           if (global_sync_.receive_own(message))
                                               global_sync_.announce_again();
                                       }};
    Options with_change = options;
    with_change.on_bus_change = [this, on_change = options.on_bus_change](const BusChange& change) {
        if (!change.unavailable) global_sync_.announce_again();
        if (on_change) on_change(change);
    };
    auto bus = BusThread::start(with_change, receivers);
    if (!bus) return std::move(bus).error();
    bus_ = *std::move(bus);
    announce_queue_.store(&bus_->queue(), std::memory_order_release);
    return std::nullopt;
}

void GlobalThreads::list(std::vector<CellName> cells, Listed listed) {
    if (made_.is_in_child()) return listed(std::nullopt);
    {
        const MutexLock lock(mutex_);
        if (!is_closed_ && listings_.size() < kMaxListings) {
            listings_.push_back({std::move(cells), std::move(listed)});
            listed = nullptr;
        }
    }
    if (listed) return listed(std::nullopt);
    reader_.wake();
}

std::vector<ComponentTable::Shown> GlobalThreads::known(const CellName& stored) const {
    if (made_.is_in_child()) return {};  // its locks may be held by threads that are not there
    return global_sync_.components().list(
        stored_key_id(stored), stored.sequence, steady_clock::now());
}

bool GlobalThreads::close(Time published_by, Time last) {
    if (has_ended_.exchange(true, std::memory_order_relaxed)) return have_threads_ended_;
    have_threads_ended_ = bus_ == nullptr || bus_->close(last);
    have_threads_ended_ &= poller_.stop(last);
    if (table_.sharing() == Sharing::kSole && have_threads_ended_) global_sync_.offer_changes();
    if (steady_clock::now() < published_by) {
        const auto published = std::make_shared<std::promise<void>>();
        std::future<void> end = published->get_future();
        {
            const MutexLock lock(mutex_);
            published_ = published;
        }
        writer_.wake();
        end.wait_until(published_by);
    }
    is_interrupted_.store(true, std::memory_order_release);
    for (GlobalStore* store : {writing_.get(), reading_.get()})
        if (store != nullptr) store->interrupt();
    have_threads_ended_ &= writer_.stop(last);
    have_threads_ended_ &= reader_.stop(last);
    {
        const MutexLock lock(mutex_);
        is_closed_ = true;
    }
    list_all();
    return have_threads_ended_;
}

GlobalStats GlobalThreads::stats() const {
    if (made_.is_in_child()) {
        GlobalStats stats{};
        stats.attached = stats.unavailable = true;
        return stats;
    }
    const Time now = steady_clock::now();
    const Publisher::Counts published = global_sync_.publisher().counts();
    const Importer::Counts imported = global_sync_.importer().counts();
    const auto is_open = [&](const StoreBreaker& breaker) {
        return breaker.state(now) != Breaker::State::kClosed;
    };
    const bool publish_open = is_open(global_sync_.publish_breaker());
    const bool import_open = is_open(global_sync_.import_breaker());
    return {.attached = true,
            .unavailable = is_unavailable_.load(std::memory_order_relaxed),
            .publish_unavailable = global_sync_.publish_breaker().is_failing(StoreUse::kPublish),
            .import_unavailable = global_sync_.import_breaker().is_failing(StoreUse::kImport),
            .breaker_open = publish_open || import_open,
            .publish_breaker_open = publish_open,
            .import_breaker_open = import_open,
            .rows_published = published.rows,
            .publishes = published.chunks,
            .publish_failures = published.failures,
            .rows_given_up = published.given_up,
            .rows_refused = published.refused,
            .republishes = published.republishes,
            .rows_forgotten = published.forgotten,
            .rows_imported = imported.rows,
            .rows_last_import = imported.rows_last_time,
            .import_failures = imported.failures,
            .cells_held = global_sync_.components().cells(),
            .cells_dropped = global_sync_.components().dropped(),
            .regions = global_sync_.regions(),
            .rows_cleaned = rows_cleaned_.load(std::memory_order_relaxed),
            .publish_lag = age(published.waiting_since, now).value_or(milliseconds{0}),
            .since_publish = age(published.last_success, now),
            .since_import = age(imported.last_success, now)};
}

std::vector<KnownRegion> GlobalThreads::regions() const {
    if (made_.is_in_child()) return {};
    const Time now = steady_clock::now();
    const Publisher::Counts published = global_sync_.publisher().counts();
    std::vector<KnownRegion> regions;
    for (const auto& [name, last] : global_sync_.components().known_regions()) {
        const bool is_own = regions.empty();
        const auto since =
            is_own ? age(published.last_success, now)
                   : std::optional(std::chrono::duration_cast<milliseconds>(now - last));
        regions.push_back({.region = name, .age = since.value_or(milliseconds{-1})});
    }
    return regions;
}

BusStats GlobalThreads::bus_stats() const {
    return bus_ == nullptr ? BusStats{} : bus_->stats();
}

// Its turns begin once all threads are there.
void GlobalThreads::start_thread(TurnThread& thread,
                                 ThreadOptions options,
                                 Time (GlobalThreads::*turn)()) {
    thread.start(std::move(options), [this, turn] {
        if (!may_begin_.load(std::memory_order_acquire)) return steady_clock::now() + kPollInterval;
        return (this->*turn)();
    });
}

// The time by which cells expire; none in tests, where only requests have a time.
std::optional<UnixTime> GlobalThreads::wall() const {
    return is_test_ ? std::nullopt : std::optional(exact_wall_time());
}

// A turn of the poller.
Time GlobalThreads::poll_changes() {
    global_sync_.offer_changes();
    return steady_clock::now() + poll_interval_;
}

// A turn of the writer.
Time GlobalThreads::write() {
    Publisher& publisher = global_sync_.publisher();
    const std::shared_ptr<std::promise<void>> published = begin_last_tick();
    for (;;) {  // ends: a tick has an end
        const auto call = publisher.next(steady_clock::now(), wall());
        if (!call) break;
        global_sync_.make_call(*call, *writing_, wall());
        report_health();
        note_refusal();
    }
    if (published != nullptr && publisher.is_idle()) end_published();
    return std::min(publisher.wake_at(), clean_up());
}

// The promise of close() that waits for the last tick, if any. The first call begins that tick.
std::shared_ptr<std::promise<void>> GlobalThreads::begin_last_tick() {
    const MutexLock lock(mutex_);
    if (published_ != nullptr && !std::exchange(has_begun_last_tick_, true))
        global_sync_.publisher().tick_now(steady_clock::now());
    return published_;
}

void GlobalThreads::end_published() {
    const MutexLock lock(mutex_);
    if (const auto published = std::exchange(published_, nullptr)) published->set_value();
}

// Deletes some expired rows, and returns the time of its next turn. Several nodes may do so at the
// same time: a row that is gone already is no error.
Time GlobalThreads::clean_up() {
    if (!cleans_up_) return Time::max();
    const Time now = steady_clock::now();
    if (now < clean_at_) return clean_at_;
    clean_at_ = now + kCleanup;
    if (!global_sync_.publish_breaker().allow(now)) return clean_at_;
    const auto deleted = writing_->delete_expired(kCleanupMargin, kCleanupRows);
    const auto* const failure = std::get_if<StoreFailure>(&deleted);
    global_sync_.publish_breaker().ended(
        StoreUse::kCleanup, {.began = now, .ended = steady_clock::now()}, failure);
    report_health();
    if (failure != nullptr && failure->kind == StoreFailure::Kind::kBusy)
        clean_at_ = steady_clock::now() + kCleanupPause;  // another node deletes rows, too
    if (failure != nullptr) return clean_at_;
    const std::size_t rows = std::get<std::size_t>(deleted);
    rows_cleaned_.fetch_add(rows, std::memory_order_relaxed);
    if (rows == kCleanupRows) clean_at_ = steady_clock::now() + kCleanupPause;
    return clean_at_;
}

// A turn of the reader. The first one checks whether the store can be used at all.
Time GlobalThreads::read() {
    if (!std::exchange(has_probed_, true)) probe();
    list_all();
    Importer& importer = global_sync_.importer();
    // An import that has begun is answered in any case: nothing between the two throws.
    StoreResult<ImportEnd> end = StoreFailure{.kind = StoreFailure::Kind::kLost, .why = kFailed};
    if (const auto query = global_sync_.next_import(steady_clock::now(), wall())) {
        run_guarded(reading_thread_, [&] {
            end = reading_->import(*query, [&](const RegionRow& row) { importer.merge(row); });
        });
        importer.answered(end, steady_clock::now());
        report_health();
    }
    return importer.wake_at();
}

void GlobalThreads::probe() {
    const auto nothing = reading_->list({});
    const auto* const failure = std::get_if<StoreFailure>(&nothing);
    if (failure != nullptr) report_health(failure->why);
}

void GlobalThreads::list_all() {
    std::vector<Listing> listings;
    {
        const MutexLock lock(mutex_);
        listings = std::exchange(listings_, {});
    }
    // After a failure the other listings fail at once: imports must not wait for all of them.
    bool may_list = true;
    for (const auto& [cells, listed] : listings) {
        StoreResult<std::vector<GlobalListing>> answer = StoreFailure{};
        if (!is_over() && may_list)
            run_guarded(reading_thread_, [&, &cells = cells] { answer = reading_->list(cells); });
        auto* const listing = std::get_if<std::vector<GlobalListing>>(&answer);
        may_list = listing != nullptr;
        listed(listing == nullptr ? std::nullopt : std::optional(std::move(*listing)));
    }
}

void GlobalThreads::report_health() {
    auto failure = global_sync_.publish_breaker().last_failure();
    if (!failure) failure = global_sync_.import_breaker().last_failure();
    report_health(failure);
}

// Called by the writer. A row may be refused again and again: one report a minute.
void GlobalThreads::note_refusal() {
    const std::uint64_t rows = global_sync_.publisher().counts().refused;
    if (rows == rows_reported_ || steady_clock::now() < report_at_) return;
    const auto refusal = global_sync_.publisher().take_refusal();
    if (!refusal) return;
    report_at_ = steady_clock::now() + kRefusalPause;
    const std::uint64_t since = rows - std::exchange(rows_reported_, rows);
    if (on_refusal_ && !is_interrupted_.load(std::memory_order_acquire))
        on_refusal_({.name_space = cut(refusal->cell.name_space),
                     .identifier = refusal->cell.identifier,
                     .why = refusal->why,
                     .rows = since});
}

// Reports that the store became available or unavailable, or why it is, where that changed.
void GlobalThreads::report_health(const std::optional<std::string>& failure) {
    const MutexLock lock(noting_);
    // The error of an interrupted call is none of the store.
    if (failure == failure_ || is_interrupted_.load(std::memory_order_acquire)) return;
    failure_ = failure;
    is_unavailable_.store(failure.has_value(), std::memory_order_relaxed);
    if (on_change_) on_change_({.unavailable = failure.has_value(), .why = failure.value_or("")});
}

}  // namespace sluice
