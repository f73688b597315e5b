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

#include "config/settings.h"
#include "log/line_writer.h"

namespace sluice {

// What an event says beside its name: a text, a number, or yes and no.
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

// Log writes whole lines; two threads never mix theirs. A value can't break out of its line or its
// quotes, whatever bytes it holds. No caller waits for the descriptor: lines that it does not take
// in time are dropped and counted, and one `log_lines_dropped` line tells how many. Thread-safe.
//
//     log.info("started", {{"address", "127.0.0.1:8080"}, {"threads", 4}});
//
//     2026-01-31T12:00:00.000Z info started address=127.0.0.1:8080 threads=4
//     {"time":"2026-01-31T12:00:00.000Z","level":"info","event":"started","address":"127.0.0.1:8080","threads":4}
class Log {
  public:
    explicit Log(const config::LogSettings& settings, int descriptor = STDERR_FILENO);

    void debug(std::string_view event, LogFields fields = {});
    void info(std::string_view event, LogFields fields = {});
    void warn(std::string_view event, LogFields fields = {});
    void error(std::string_view event, LogFields fields = {});

    void set_level(config::LogLevel level) { level_.store(level, std::memory_order_relaxed); }

    // Waits for the lines logged so far to be written, for a process that is about to end
    // without destructors. Returns false after `timeout`.
    bool flush(std::chrono::milliseconds timeout = std::chrono::milliseconds{500}) {
        return writer_.flush(timeout);
    }

    // Lines dropped so far.
    std::uint64_t dropped() const { return writer_.dropped(); }

  private:
    void write(config::LogLevel level, std::string_view event, LogFields fields);

    const config::LogFormat format_;
    // Set by a reload, read by every thread that logs. Relaxed: a line more or less is no matter.
    std::atomic<config::LogLevel> level_;
    LineWriter writer_;
};

}  // namespace sluice

#endif  // SLUICE_LOG_LOG_H_
