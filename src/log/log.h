// The log: one line per event, as text for people or as JSON for machines, on standard error.
#ifndef SLUICE_LOG_LOG_H_
#define SLUICE_LOG_LOG_H_

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "config/settings.h"

namespace spdlog::sinks {
class sink;
}
namespace spdlog {
class logger;
}

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
// quotes, whatever bytes it holds. Thread-safe.
//
//     log.info("started", {{"address", "127.0.0.1:8080"}, {"threads", 4}});
//
//     2026-01-31T12:00:00.000Z info started address=127.0.0.1:8080 threads=4
//     {"time":"2026-01-31T12:00:00.000Z","level":"info","event":"started","address":"127.0.0.1:8080","threads":4}
class Log {
  public:
    explicit Log(const config::LogSettings& settings);
    Log(const config::LogSettings& settings, std::shared_ptr<spdlog::sinks::sink> sink);
    ~Log();

    void debug(std::string_view event, LogFields fields = {});
    void info(std::string_view event, LogFields fields = {});
    void warn(std::string_view event, LogFields fields = {});
    void error(std::string_view event, LogFields fields = {});

    void set_level(config::LogLevel level);

  private:
    void write(int level, std::string_view event, LogFields fields);

    const config::LogFormat format_;
    std::unique_ptr<spdlog::logger> logger_;
};

}  // namespace sluice

#endif  // SLUICE_LOG_LOG_H_
