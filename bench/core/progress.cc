#include "core/progress.h"

#include <chrono>
#include <cstdio>

#include <unistd.h>

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;

const Clock::time_point start = Clock::now();
const bool on_terminal = isatty(STDERR_FILENO) == 1;

}  // namespace

void show_progress(const std::string& what) {
    constexpr std::chrono::seconds kBetweenLines{5};
    static Clock::time_point next_line = start;
    const Clock::time_point now = Clock::now();
    if (!on_terminal && now < next_line) return;
    next_line = now + kBetweenLines;
    const double seconds = std::chrono::duration<double>(now - start).count();
    std::fprintf(stderr,
                 "%s%4.0f s  %s%s",
                 on_terminal ? "\r\033[K" : "",
                 seconds,
                 what.c_str(),
                 on_terminal ? "" : "\n");
    std::fflush(stderr);
}

void end_progress() {
    if (on_terminal) std::fputs("\r\033[K", stderr);
}

}  // namespace sluice::bench
