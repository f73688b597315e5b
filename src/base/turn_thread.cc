#include "base/turn_thread.h"

#include <utility>

namespace sluice {
namespace {

// The least pause after a turn that has thrown: wake() does not shorten it.
constexpr std::chrono::milliseconds kAfterFailure{100};

}  // namespace

// A body that throws nothing: turns do.
void TurnThread::start(ThreadOptions options, Turn turn) {
    handle_.thread = start_thread({.name = options.name},
                                  [state = state_, options, turn = std::move(turn)]() mutable {
                                      state->run(options, std::move(turn));
                                  });
    id_ = handle_.thread.get_id();
}

void TurnThread::State::run(const ThreadOptions& options, Turn turn) {
    std::unique_lock lock(mutex);
    while (!is_stopping) {
        is_awake = false;
        lock.unlock();
        Time next = Time::max();
        const bool has_failed = !run_guarded(options, [&] { next = turn(); });
        if (has_failed) next = Time::clock::now() + kAfterFailure;
        lock.lock();
        if (has_failed && options.after_failure == AfterFailure::kEnd) break;
        const auto may_go_on = [&] { return is_stopping || (is_awake && !has_failed); };
        woken.wait_until(lock, next, may_go_on);
    }
    lock.unlock();
    turn = nullptr;
    lock.lock();
    has_ended = true;
    ended.notify_one();
}

void TurnThread::wake() {
    if (made_.is_in_child()) return;  // its lock may be held for ever
    {
        const std::lock_guard lock(state_->mutex);
        state_->is_awake = true;
    }
    state_->woken.notify_one();
}

bool TurnThread::stop(Time deadline) {
    // The thread is not in this process, and holds its share of the state for ever.
    if (made_.is_in_child()) return true;
    {
        std::unique_lock lock(state_->mutex);
        if (!handle_.thread.joinable()) return id_ == std::thread::id{} || state_->has_ended;
        state_->is_stopping = true;
        state_->woken.notify_one();
        const auto has_ended = [this] { return state_->has_ended; };
        if (deadline == Time::max()) {
            state_->ended.wait(lock, has_ended);
        } else if (!state_->ended.wait_until(lock, deadline, has_ended)) {
            handle_.thread.detach();
            return false;
        }
    }
    handle_.thread.join();
    return true;
}

}  // namespace sluice
