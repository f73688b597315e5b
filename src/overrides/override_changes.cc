#include "overrides/override_changes.h"

#include <exception>
#include <utility>

#include "base/random.h"

namespace sluice::overrides {

using Clock = std::chrono::steady_clock;

OverrideChanges::OverrideChanges(OverrideSet& set, Options options)
    : set_(set), options_(std::move(options)) {
    if (options_.interval.count() > 0) reload();
    thread_.start({.name = "sluice-override", .on_failure = options_.on_thread_failure},
                  [this] { return turn(); });
}

bool OverrideChanges::set(const OverrideKey& key,
                          const LimitAndDuration& value,
                          const std::optional<Author>& author,
                          std::function<void(Result<std::string>)> done) {
    const auto change = [this, value, author](const OverrideKey& queued) {
        return set_.set(queued, value, author);
    };
    return enqueue(key, change, std::move(done));
}

bool OverrideChanges::remove(const OverrideKey& key,
                             const std::optional<Author>& author,
                             std::function<void(Result<bool>)> done) {
    const auto change = [this, author](const OverrideKey& queued) {
        return set_.remove(queued, author);
    };
    return enqueue(key, change, std::move(done));
}

bool OverrideChanges::read_changes(const ChangeQuery& query,
                                   std::function<void(Result<std::vector<Change>>)> done) {
    return enqueue([this, query, done = std::move(done)](Act act) {
        if (act == Act::kGiveUp) return done(Error{kStoreUnavailable, "the server shuts down"});
        done(call_store<std::vector<Change>>([&] { return set_.changes(query); }));
    });
}

template <class T, class MakeChange>
bool OverrideChanges::enqueue(const OverrideKey& key,
                              MakeChange change,
                              std::function<void(Result<T>)> done) {
    return enqueue([this,
                    workspace = std::string(key.workspace),
                    name_space = std::string(key.name_space),
                    identifier = std::string(key.identifier),
                    change,
                    done = std::move(done)](Act act) {
        if (act == Act::kGiveUp) return done(Error{kStoreUnavailable, "the server shuts down"});
        done(call_store<T>([&] { return change({workspace, name_space, identifier}); }));
    });
}

bool OverrideChanges::enqueue(Task task) {
    {
        const MutexLock lock(mutex_);
        if (is_closed_ || queue_.size() >= options_.most_waiting) return false;
        queue_.push_back(std::move(task));
    }
    thread_.wake();
    return true;
}

// Makes one change, so that a reload that is due comes between two, however many are queued.
TurnThread::Time OverrideChanges::turn() {
    const Task task = take();
    if (task) task(Act::kChange);
    if (Clock::now() >= next_reload_ && !is_closed()) reload();
    return task ? Clock::now() : next_reload_;
}

OverrideChanges::Task OverrideChanges::take() {
    const MutexLock lock(mutex_);
    if (queue_.empty()) return nullptr;
    Task task = std::move(queue_.front());
    queue_.pop_front();
    return task;
}

// Running out of memory fails one change, not the thread. An invalid request never reaches the
// store, so it says nothing about the store.
template <class T, class Call>
Result<T> OverrideChanges::call_store(Call call) {
    Result<T> outcome = Error{kStoreFailed, ""};
    try {
        outcome = call();
    } catch (const std::exception& error) {
        outcome = Error{kStoreFailed, std::string("a change of overrides failed: ") + error.what()};
    }
    if (outcome) {
        note(std::nullopt);
    } else if (outcome.error().code != kInvalidRequest) {
        note(outcome.error());
    }
    return outcome;
}

// The next one comes up to a fifth sooner than the interval says, so that nodes that started
// together don't stay in step.
void OverrideChanges::reload() {
    (void)call_store<bool>([this]() -> Result<bool> {
        if (auto error = set_.reload()) return *std::move(error);
        return true;
    });
    const auto fifth = static_cast<std::uint64_t>(options_.interval.count()) / 5;
    const auto sooner = fifth == 0 ? 0 : system_random() % fifth;
    next_reload_ = Clock::now() + options_.interval -
                   std::chrono::milliseconds{static_cast<std::int64_t>(sooner)};
}

void OverrideChanges::note(const std::optional<Error>& outcome) {
    const std::string failure = outcome ? outcome->message : std::string();
    is_failing_.store(outcome.has_value(), std::memory_order_relaxed);
    if (std::exchange(failure_, failure) == failure) return;
    // The error of an interrupted call is not reported.
    if (!is_closed()) options_.on_health_change(outcome);
}

bool OverrideChanges::is_closed() {
    const MutexLock lock(mutex_);
    return is_closed_;
}

void OverrideChanges::close() {
    std::deque<Task> left;
    {
        const MutexLock lock(mutex_);
        if (std::exchange(is_closed_, true)) return;
        left.swap(queue_);
    }
    set_.interrupt();
    thread_.stop();
    for (const Task& task : left)
        task(Act::kGiveUp);
}

}  // namespace sluice::overrides
