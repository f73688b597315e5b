// The log: one line per event, as text for people or as JSON for machines, on standard error.
#ifndef SLUICE_LOG_LOG_H_
#define SLUICE_LOG_LOG_H_

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <unistd.h>

#include "log/line_writer.h"

namespace sluice {

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError, kOff };
enum class LogFormat { kText, kJson };

struct LogOptions {
    LogLevel level = LogLevel::kInfo;
    LogFormat format = LogFormat::kText;
    int descriptor = STDERR_FILENO;
};

// A named value of an event: text, a number or a boolean.
class LogField {
  public:
    LogField(std::string_view name, std::string_view text);
    LogField(std::string_view name, const char* text) : LogField(name, std::string_view(text)) {}
    LogField(std::string_view name, const std::string& text)
        : LogField(name, std::string_view(text)) {}
    LogField(std::string_view name, bool value);
    template <std::integral Number>
    LogField(std::string_view name, Number number)
        : name_(name), value_(std::to_string(number)), is_text_(false) {}

    std::string_view name() const { return name_; }
    const std::string& value() const { return value_; }
    bool is_text() const { return is_text_; }

  private:
    std::string_view name_;
    std::string value_;
    bool is_text_;
};
using LogFields = std::initializer_list<LogField>;

// Writes whole lines; those of different threads never mix. A value can't break out of its line or
// its quotes, and a line is UTF-8, whatever bytes it holds. Callers never wait for the descriptor:
// lines that it does not accept in time are dropped and counted, and a `log_lines_dropped` line has
// their number. Thread-safe.
//
//     log.info("started", {{"address", "127.0.0.1:8080"}, {"threads", 4}});
//
//     2026-01-31T12:00:00.000Z info started address=127.0.0.1:8080 threads=4
//     {"time":"2026-01-31T12:00:00.000Z","level":"info","event":"started","address":"127.0.0.1:8080","threads":4}
class Log {
  public:
    explicit Log(const LogOptions& options);

    void debug(std::string_view event, LogFields fields = {});
    void info(std::string_view event, LogFields fields = {});
    void warn(std::string_view event, LogFields fields = {});
    void error(std::string_view event, LogFields fields = {});

    void set_level(LogLevel level) { level_.store(level, std::memory_order_relaxed); }

    // Waits until the lines logged so far are written, for a process that is about to end without
    // running destructors. Returns false after `timeout`.
    bool flush(std::chrono::milliseconds timeout = std::chrono::milliseconds{500}) {
        return writer_.flush(timeout);
    }

    // Lines dropped so far.
    std::uint64_t dropped() const { return writer_.dropped(); }
    // Failures of the writing thread so far; it went on after each.
    std::uint64_t thread_failures() const { return writer_.failures(); }

  private:
    void write(LogLevel level, std::string_view event, LogFields fields);

    const LogFormat format_;
    // Set by a reload, read by every thread that logs. Relaxed: nothing is published through it.
    std::atomic<LogLevel> level_;
    LineWriter writer_;
};

}  // namespace sluice

#endif  // SLUICE_LOG_LOG_H_
