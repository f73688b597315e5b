#include "insight/observer.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace sluice::insight {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Keys of either ranking that a node reports of each window; the most with 1 % each are 99.
constexpr std::size_t kReportedKeys = 100;
// The same of this node's own counts.
constexpr std::size_t kOwnKeys = 500;

// Reports are older than this only while the origin is unavailable: otherwise they are read every
// second while requests for the counts of the region arrive.
constexpr milliseconds kMostSinceRead{3'000};
constexpr milliseconds kRecent{1'500};
// Reports are read every second for this long after such a request.
constexpr milliseconds kAskedFor{5'000};
// A read that takes longer was lost with its connection.
constexpr milliseconds kLongestRead{5'000};
// How often reports are read without such requests, in seconds: reading removes those of nodes that
// are gone.
constexpr std::uint64_t kCleanUp = 60;
constexpr std::uint64_t kLongerWindows = 5;

// The upper bound of a bucket in microseconds; the last one has none, and counts as twice its lower
// bound.
double bound_of(std::size_t bucket) {
    constexpr auto& kBounds = metrics::Histogram::kBounds;
    const auto last = static_cast<double>(kBounds.back().count());
    const double bound =
        bucket < kBounds.size() ? static_cast<double>(kBounds[bucket].count()) : 2 * last;
    return bound / 1000;
}

std::uint32_t quantile(const LatencyCounts& counts, double rank) {
    double below = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const auto count = static_cast<double>(counts[i]);
        if (below + count >= rank && count > 0) {
            const double lower = i == 0 ? 0 : bound_of(i - 1);
            const double within = (rank - below) / count;
            return static_cast<std::uint32_t>(lower + within * (bound_of(i) - lower) + 0.5);
        }
        below += count;
    }
    return 0;
}

// A report without its windows.
NodeReport report_of(const NodeStatus& status) {
    return {.version = status.version,
            .listen = status.listen,
            .state = status.state,
            .started_at = status.started_at,
            .keys_held = status.keys_held,
            .overrides_version = status.overrides_version,
            .origin_unavailable = status.origin.unavailable,
            .global_unavailable = status.global.unavailable,
            .bus_unavailable = status.bus.unavailable,
            .windows = {}};
}

StateSample sample_of(const NodeStatus& status) {
    return {.latency = {},
            .keys_held = status.keys_held,
            .oldest_unsynced = status.origin.oldest_unsynced,
            .import_age = status.global.since_import.value_or(milliseconds{-1}),
            .origin_unavailable = status.origin.unavailable,
            .global_unavailable = status.global.unavailable,
            .bus_unavailable = status.bus.unavailable,
            .breaker_open = status.global.breaker_open};
}

}  // namespace

Latency latency_between(const LatencyCounts& before, const LatencyCounts& after) {
    LatencyCounts counts{};
    double total = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        counts[i] = after[i] - before[i];
        total += static_cast<double>(counts[i]);
    }
    if (total == 0) return {};
    return {.p50 = quantile(counts, total * 0.5),
            .p99 = quantile(counts, total * 0.99),
            .p999 = quantile(counts, total * 0.999)};
}

Observer::Observer(Options options)
    : options_(std::move(options)),
      started_at_(options_.read_wall_clock()),
      started_(Clock::now()),
      activity_(options_.seed) {}

void Observer::start() {
    thread_.start({.name = "sluice-observer", .on_failure = options_.on_thread_failure},
                  [this, is_first = true]() mutable {
                      if (!std::exchange(is_first, false)) end_second();
                      return next_second() + kCollected;
                  });
}

void Observer::stop() {
    thread_.stop();
    region_->stop();
}

UnixTime Observer::clock() const {
    return started_at_ + std::chrono::duration_cast<milliseconds>(Clock::now() - started_);
}

Observer::Clock::time_point Observer::next_second() const {
    const UnixTime next = std::chrono::floor<seconds>(clock()) + seconds{1};
    return started_ + (next - started_at_);
}

// What was collected would pile up if it were not merged, so a failure skips only what needs it.
void Observer::end_second() {
    bool has_failed = false;
    const auto attempt = [&](auto act) {
        try {
            act();
        } catch (const std::exception& error) {
            if (!has_failed && !has_failed_) options_.on_failure(error.what());
            has_failed = true;
        }
    };
    std::optional<NodeStatus> status;
    StateSample sample;
    attempt([&] {
        NodeStatus read = options_.read_status();
        const LatencyCounts latency = options_.read_latency();
        sample = sample_of(read);
        sample.latency = latency_between(latency_, latency);
        latency_ = latency;
        status = std::move(read);
    });
    attempt([&] {
        follow_wall_clock();
        activity_.end_second(sample, std::chrono::floor<seconds>(clock()));
    });
    attempt([&] { region_->end_long_waits(); });
    if (status) attempt([&] { publish_second(*status); });
    has_failed_ = has_failed;
}

void Observer::publish_second(const NodeStatus& status) {
    ++seconds_;
    if (options_.exchange) exchange_reports(status);
    options_.on_second();
}

// Small differences stay, so that consecutive seconds are shown as such.
void Observer::follow_wall_clock() {
    const auto behind = options_.read_wall_clock() - now();
    if (behind < seconds{1} && behind > -seconds{1}) return;
    offset_.store(offset_.load(std::memory_order_relaxed) + std::chrono::round<seconds>(behind),
                  std::memory_order_relaxed);
}

UnixTime Observer::shown(UnixTime time) const {
    return time + offset_.load(std::memory_order_relaxed);
}

void Observer::show(std::vector<TopKey>& keys) const {
    for (TopKey& key : keys) {
        key.last = shown(key.last);
        if (key.last_denied != UnixTime{}) key.last_denied = shown(key.last_denied);
    }
}

TrafficReport Observer::traffic(const Activity::Span& span, const IsVisible& is_visible) const {
    TrafficReport report = activity_.traffic(span, is_visible);
    report.from = shown(report.from);
    return report;
}

// The longer windows change little within a second.
void Observer::make_report(const NodeStatus& status) {
    const auto everything = [](const ShownNamespace&) { return true; };
    const auto window = [&](Window length) {
        WindowReport report = activity_.report(length, kReportedKeys, everything);
        show(report.keys);
        return report;
    };
    auto windows = std::move(report_.windows);
    report_ = report_of(status);
    report_.windows = std::move(windows);
    report_.windows[0] = window(Window::kMinute);
    if (longer_windows_at_ != 0 && seconds_ - longer_windows_at_ < kLongerWindows) return;
    report_.windows[1] = window(Window::kTenMinutes);
    report_.windows[2] = window(Window::kHour);
    longer_windows_at_ = seconds_;
}

void Observer::exchange_reports(const NodeStatus& status) {
    bool is_asked = false;
    {
        const MutexLock lock(region_->mutex);
        is_asked = Clock::now() - region_->asked_at < kAskedFor;
    }
    const bool is_first = seconds_ == 1;
    if (!is_asked && !is_first && seconds_ % kIdleReports != 0) return;
    make_report(status);
    std::string text = encode(report_);
    {
        const MutexLock lock(region_->mutex);
        region_->report = text;
    }
    // While a read is underway, maybe on a connection that is lost, the report is left by itself.
    const bool reads = is_asked || is_first || seconds_ % kCleanUp == 0;
    if (!reads || !start_read()) options_.exchange(std::move(text), nullptr);
}

bool Observer::start_read() const {
    std::string report;
    {
        const MutexLock lock(region_->mutex);
        const Clock::time_point now = Clock::now();
        if (region_->reading_since && now - *region_->reading_since < kLongestRead) return false;
        region_->reading_since = now;
        report = region_->report;
    }
    options_.exchange(std::move(report),
                      [region = region_](std::optional<std::vector<NodeNote>> notes) {
                          region->end_read(std::move(notes));
                      });
    return true;
}

bool Observer::Region::await_read(std::function<void()>& done) {
    const MutexLock lock(mutex);
    asked_at = Clock::now();
    if (is_stopped) return false;
    waiting.push_back(std::move(done));
    return true;
}

void Observer::Region::end_read(std::optional<std::vector<NodeNote>> read) {
    const MutexLock calls(calling);
    std::vector<std::function<void()>> done;
    {
        const MutexLock lock(mutex);
        tried_at = Clock::now();
        reading_since.reset();
        done.swap(waiting);
        is_long_wait = false;
        if (read) {
            notes = *std::move(read);
            is_new = true;
            read_at = tried_at;
        }
    }
    for (const auto& each : done)
        each();
}

void Observer::Region::end_long_waits() {
    const MutexLock calls(calling);
    std::vector<std::function<void()>> done;
    {
        const MutexLock lock(mutex);
        if (is_long_wait) {
            tried_at = Clock::now();
            done.swap(waiting);
        }
        is_long_wait = !waiting.empty();
    }
    for (const auto& each : done)
        each();
}

void Observer::Region::stop() {
    const MutexLock calls(calling);
    std::vector<std::function<void()>> done;
    {
        const MutexLock lock(mutex);
        is_stopped = true;
        done.swap(waiting);
    }
    for (const auto& each : done)
        each();
}

bool Observer::has_recent_reports() const {
    if (!options_.exchange) return true;
    const MutexLock lock(region_->mutex);
    region_->asked_at = Clock::now();
    return region_->asked_at - region_->tried_at < kRecent;
}

void Observer::read_reports(std::function<void()> done) const {
    if (!options_.exchange || !region_->await_read(done)) return done();
    start_read();
}

std::vector<ReceivedReport> Observer::others(std::string_view own) const {
    std::vector<NodeNote> notes;
    const MutexLock lock(reports_mutex_);
    bool is_new = false;
    {
        const MutexLock region_lock(region_->mutex);
        region_->asked_at = Clock::now();
        is_new = std::exchange(region_->is_new, false);
        if (is_new) {
            notes.swap(region_->notes);
            reports_read_at_ = *region_->read_at;
        }
    }
    if (is_new) {
        reports_.clear();
        has_unreadable_ = false;
    }
    for (const NodeNote& note : notes) {
        if (note.node == own) continue;
        auto report = decode(note.text);
        if (!report) {
            has_unreadable_ = true;
            continue;
        }
        reports_.push_back({.node = shown_text(note.node),
                            .age = note.age,
                            .report = std::make_shared<const NodeReport>(*std::move(report))});
    }
    std::vector<ReceivedReport> current = reports_;
    const auto since = std::chrono::duration_cast<milliseconds>(Clock::now() - reports_read_at_);
    for (ReceivedReport& each : current)
        each.age += since;
    std::erase_if(current, [](const ReceivedReport& each) { return each.age > kReportLifetime; });
    return current;
}

// Whether other nodes may be missing: reports have not been read lately, or one of those that
// others() decoded last is of another version.
bool Observer::is_partial() const {
    if (!options_.exchange) return false;
    {
        const MutexLock lock(reports_mutex_);
        if (has_unreadable_) return true;
    }
    const MutexLock lock(region_->mutex);
    return !region_->read_at || Clock::now() - *region_->read_at > kMostSinceRead;
}

RegionTopKeys Observer::top_keys(const TopQuery& query) const {
    const std::vector<ReceivedReport> received = others(options_.read_status().node);
    RegionTopKeys region{
        .now = now(), .top = {}, .nodes = 1 + received.size(), .is_partial = is_partial()};
    if (received.empty()) {
        region.top = activity_.top_keys(query);
        show(region.top.keys);
        return region;
    }
    WindowReport own = activity_.report(query.window, kOwnKeys, query.is_visible);
    show(own.keys);
    std::vector<const WindowReport*> windows{&own};
    for (const ReceivedReport& each : received)
        windows.push_back(&each.report->windows[static_cast<std::size_t>(query.window)]);
    region.top = merge_top_keys(windows, query);
    return region;
}

Fleet Observer::fleet() const {
    const NodeStatus status = options_.read_status();
    std::vector<ReceivedReport> received = others(status.node);
    Fleet fleet{.now = now(), .nodes = {}, .is_partial = is_partial()};
    fleet.nodes.push_back({.node = status.node,
                           .age = {},
                           .report = std::make_shared<const NodeReport>(report_of(status))});
    for (ReceivedReport& each : received)
        fleet.nodes.push_back(std::move(each));
    return fleet;
}

}  // namespace sluice::insight
