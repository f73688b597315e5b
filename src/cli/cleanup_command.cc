#include "cli/cleanup_command.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <optional>
#include <ostream>
#include <utility>

#include "service/global_store_url.h"

namespace sluice::cli {
namespace {

constexpr std::uint64_t kRowsPerLine = 10'000;

// Holds SIGINT and SIGTERM back for as long as it lives: a statement is never cut off, and a pause
// ends at once.
class HeldSignals {
  public:
    HeldSignals() {
        sigemptyset(&ends_);
        sigaddset(&ends_, SIGINT);
        sigaddset(&ends_, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &ends_, &before_);
    }
    ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

    // Whether one came, now or within that time.
    bool wait(std::chrono::milliseconds time) const {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
        const timespec timeout{
            .tv_sec = seconds.count(),
            .tv_nsec = std::chrono::nanoseconds(time - seconds).count(),
        };
        while (true) {
            if (sigtimedwait(&ends_, nullptr, &timeout) >= 0) return true;
            if (errno != EINTR) return false;
        }
    }

  private:
    sigset_t ends_{};
    sigset_t before_{};
};

// A line for each so many rows.
class Progress {
  public:
    explicit Progress(std::ostream& out) : out_(out) {}
    void tell(std::uint64_t deleted) {
        if (deleted < next_) return;
        out_ << "deleted " << deleted << " rows so far" << std::endl;
        next_ = (deleted / kRowsPerLine + 1) * kRowsPerLine;
    }

  private:
    std::ostream& out_;
    std::uint64_t next_ = kRowsPerLine;
};

ExitCode fail(const Error& error, std::ostream& err) {
    err << "sluice cleanup: " << error.message << "\n";
    return ExitCode::kError;
}

}  // namespace

ExitCode run_cleanup(const CleanupCommand& command, std::ostream& out, std::ostream& err) {
    // Before the database's library may start a thread of its own.
    const HeldSignals signals;
    // It deletes for all regions, and publishes nothing.
    const auto store = open_global({.url = command.global, .region = "cleanup"});
    if (!store) return fail(store.error(), err);
    Progress progress(out);
    const auto pause = [&](std::uint64_t deleted) {
        progress.tell(deleted);
        return !signals.wait(command.pause);
    };
    const auto outcome = cleanup_global(**store, {.batch = command.batch, .pause = pause});
    if (!outcome) return fail(outcome.error(), err);
    out << shown_global(command.global) << ": deleted " << outcome->deleted << " expired rows"
        << (outcome->complete ? "" : "; interrupted, more may be left") << "\n";
    return ExitCode::kOk;
}

}  // namespace sluice::cli
