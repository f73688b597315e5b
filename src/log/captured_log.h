// A log for tests, which can read its lines.
#ifndef SLUICE_LOG_CAPTURED_LOG_H_
#define SLUICE_LOG_CAPTURED_LOG_H_

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include <unistd.h>

#include "log/log.h"

namespace sluice {

// Thread-safe like the log itself.
class CapturedLog {
  public:
    // The descriptor of `options` is ignored.
    explicit CapturedLog(const LogOptions& options = {})
        : log({.level = options.level,
               .format = options.format,
               .descriptor = ::fileno(file_.get())}) {}

    // All lines logged so far.
    std::string text() {
        log.flush(std::chrono::seconds{30});
        std::string text;
        std::array<char, 4096> piece;
        for (;;) {
            const ssize_t size = ::pread(
                ::fileno(file_.get()), piece.data(), piece.size(), static_cast<off_t>(text.size()));
            if (size <= 0) return text;
            text.append(piece.data(), static_cast<std::size_t>(size));
        }
    }

  private:
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{std::tmpfile(), std::fclose};

  public:
    Log log;
};

}  // namespace sluice

#endif  // SLUICE_LOG_CAPTURED_LOG_H_
