#include "server/exit_deadline.h"

#include <algorithm>
#include <cstdlib>

namespace sluice::server {
namespace {

constexpr std::chrono::milliseconds kLastLines{200};

}  // namespace

ExitDeadline::ExitDeadline(Log& log) : log_(log) {
    thread_.start({.name = "sluice-exit"}, [this] { return turn(); });
}

void ExitDeadline::set(Time deadline) {
    {
        const MutexLock lock(mutex_);
        deadline_ = std::min(deadline_, deadline);
    }
    thread_.wake();
}

ExitDeadline::Time ExitDeadline::turn() {
    {
        const MutexLock lock(mutex_);
        if (Time::clock::now() < deadline_) return deadline_;
    }
    run_guarded({.name = "sluice-exit"}, [this] {
        log_.warn(
            "exit_overdue",
            {{"why", "a call to a store, a collector or a resolver hangs; it is left behind"}});
    });
    log_.flush(kLastLines);
    std::_Exit(EXIT_SUCCESS);
}

}  // namespace sluice::server
