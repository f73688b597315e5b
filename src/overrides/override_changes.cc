#include "overrides/override_changes.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/random.h"

namespace sluice::overrides {
namespace {

using Clock = std::chrono::steady_clock;

// A key that owns its parts, for a queued change.
struct OwnedKey {
    explicit OwnedKey(const OverrideKey& key)
        : workspace(key.workspace), name_space(key.name_space), identifier(key.identifier) {}
    OverrideKey view() const { return {workspace, name_space, identifier}; }

    std::string workspace;
    std::string name_space;
    std::string identifier;
};

Error closed_error() {
    return {kStoreUnavailable, "the server shuts down"};
}

// Running out of memory fails one change, not the thread.
template <class T, class Call>
Result<T> guarded(Call call) {
    try {
        return call();
    } catch (const std::exception& error) {
        return Error{kStoreFailed, std::string("a change of overrides failed: ") + error.what()};
    }
}

// An invalid request never reaches the store, so it says nothing about the store.
template <class T>
bool reached_store(const Result<T>& outcome) {
    return outcome || outcome.error().code != kInvalidRequest;
}

template <class T>
std::optional<Error> trouble_in(const Result<T>& outcome) {
    if (outcome) return std::nullopt;
    return outcome.error();
}

}  // namespace

OverrideChanges::OverrideChanges(OverrideSet& set, Options options)
    : set_(set), options_(std::move(options)) {
    if (options_.interval.count() > 0) reload();
    thread_ = std::thread([this] { run(); });
}

bool OverrideChanges::set(const OverrideKey& key,
                          const Grant& grant,
                          std::function<void(Result<std::string>)> done) {
    return enqueue([this, key = OwnedKey(key), grant, done = std::move(done)](Act act) {
        if (act == Act::kGiveUp) return done(closed_error());
        auto id = guarded<std::string>([&] { return set_.set(key.view(), grant); });
        if (reached_store(id)) note(trouble_in(id));
        done(std::move(id));
    });
}

bool OverrideChanges::remove(const OverrideKey& key, std::function<void(Result<bool>)> done) {
    return enqueue([this, key = OwnedKey(key), done = std::move(done)](Act act) {
        if (act == Act::kGiveUp) return done(closed_error());
        auto removed = guarded<bool>([&] { return set_.remove(key.view()); });
        note(trouble_in(removed));
        done(std::move(removed));
    });
}

bool OverrideChanges::enqueue(Change change) {
    const MutexLock lock(mutex_);
    if (is_closed_ || queue_.size() >= options_.most_waiting) return false;
    queue_.push_back(std::move(change));
    wake_up_.notify_one();
    return true;
}

// A reload that is due comes between two changes, however many are queued.
void OverrideChanges::run() {
    auto next = Clock::now() + next_interval();
    while (!is_closed()) {
        const auto change = take(next);
        if (change) (*change)(Act::kChange);
        if (options_.interval.count() == 0 || Clock::now() < next || is_closed()) continue;
        reload();
        next = Clock::now() + next_interval();
    }
}

std::optional<OverrideChanges::Change> OverrideChanges::take(Clock::time_point until) {
    const MutexLock lock(mutex_);
    const auto is_awake = [this] {
        mutex_.assert_held();
        return is_closed_ || !queue_.empty();
    };
    if (options_.interval.count() == 0) {
        wake_up_.wait(mutex_, is_awake);
    } else {
        wake_up_.wait_until(mutex_, until, is_awake);
    }
    if (is_closed_ || queue_.empty()) return std::nullopt;
    Change change = std::move(queue_.front());
    queue_.pop_front();
    return change;
}

void OverrideChanges::reload() {
    note(trouble_in(guarded<bool>([&]() -> Result<bool> {
        if (auto error = set_.reload()) return *std::move(error);
        return true;
    })));
}

void OverrideChanges::note(const std::optional<Error>& outcome) {
    const std::string trouble = outcome ? outcome->message : std::string();
    is_failing_.store(outcome.has_value(), std::memory_order_relaxed);
    if (std::exchange(trouble_, trouble) == trouble) return;
    // The error of an interrupted call is not reported.
    if (!is_closed()) options_.on_trouble(outcome);
}

// Up to a fifth shorter, so that nodes that started together don't stay in step.
std::chrono::milliseconds OverrideChanges::next_interval() const {
    const auto fifth = options_.interval / 5;
    if (fifth.count() == 0) return options_.interval;
    const auto sooner = system_random() % static_cast<std::uint64_t>(fifth.count());
    return options_.interval - std::chrono::milliseconds{static_cast<std::int64_t>(sooner)};
}

bool OverrideChanges::is_closed() {
    const MutexLock lock(mutex_);
    return is_closed_;
}

void OverrideChanges::close() {
    {
        const MutexLock lock(mutex_);
        if (std::exchange(is_closed_, true)) return;
        wake_up_.notify_one();
    }
    set_.interrupt();
    thread_.join();
    std::deque<Change> left;
    {
        const MutexLock lock(mutex_);
        left.swap(queue_);
    }
    for (const Change& change : left)
        change(Act::kGiveUp);
}

}  // namespace sluice::overrides
