#include "log/log.h"

#include <algorithm>
#include <utility>

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace sluice {
namespace {

constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%eZ %v";
constexpr const char* kJsonPattern = R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ",%v})";

spdlog::level::level_enum level_of(config::LogLevel level) {
    switch (level) {
        case config::LogLevel::kTrace:
            return spdlog::level::trace;
        case config::LogLevel::kDebug:
            return spdlog::level::debug;
        case config::LogLevel::kInfo:
            return spdlog::level::info;
        case config::LogLevel::kWarn:
            return spdlog::level::warn;
        case config::LogLevel::kError:
            return spdlog::level::err;
        case config::LogLevel::kOff:
            return spdlog::level::off;
    }
    return spdlog::level::info;
}

// As the setting spells them, which spdlog doesn't.
std::string_view name_of(spdlog::level::level_enum level) {
    switch (level) {
        case spdlog::level::debug:
            return "debug";
        case spdlog::level::warn:
            return "warn";
        case spdlog::level::err:
            return "error";
        default:
            return "info";
    }
}

// In quotes, with everything escaped that JSON wants escaped; UTF-8 stays as it is.
void append_quoted(std::string& out, std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    out += '"';
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20 || byte == 0x7f) {
            out += "\\u00";
            out += kDigits[byte >> 4U];
            out += kDigits[byte & 15U];
        } else {
            out += c;
        }
    }
    out += '"';
}

// Whether a value can stand in a line of text without quotes.
bool is_plain(std::string_view text) {
    const auto needs_quotes = [](char c) {
        return c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f;
    };
    return !text.empty() && std::none_of(text.begin(), text.end(), needs_quotes);
}

std::string text_line(std::string_view level, std::string_view event, LogFields fields) {
    std::string line(level);
    line += ' ';
    line += event;
    for (const LogField& field : fields) {
        line += ' ';
        line += field.name();
        line += '=';
        if (!field.is_text() || is_plain(field.value())) {
            line += field.value();
        } else {
            append_quoted(line, field.value());
        }
    }
    return line;
}

std::string json_line(std::string_view level, std::string_view event, LogFields fields) {
    std::string line = "\"level\":";
    append_quoted(line, level);
    line += ",\"event\":";
    append_quoted(line, event);
    for (const LogField& field : fields) {
        line += ',';
        append_quoted(line, field.name());
        line += ':';
        if (field.is_text()) {
            append_quoted(line, field.value());
        } else {
            line += field.value();
        }
    }
    return line;
}

}  // namespace

LogField::LogField(std::string_view name, std::string_view text)
    : name_(name), value_(text), is_text_(true) {}
LogField::LogField(std::string_view name, bool value)
    : name_(name), value_(value ? "true" : "false"), is_text_(false) {}

Log::Log(const config::LogSettings& settings)
    : Log(settings, std::make_shared<spdlog::sinks::stderr_sink_mt>()) {}

Log::Log(const config::LogSettings& settings, std::shared_ptr<spdlog::sinks::sink> sink)
    : format_(settings.format),
      logger_(std::make_unique<spdlog::logger>("sluice", std::move(sink))) {
    const bool is_json = format_ == config::LogFormat::kJson;
    logger_->set_formatter(std::make_unique<spdlog::pattern_formatter>(
        is_json ? kJsonPattern : kTextPattern, spdlog::pattern_time_type::utc));
    logger_->flush_on(spdlog::level::trace);
    set_level(settings.level);
}

Log::~Log() = default;

void Log::debug(std::string_view event, LogFields fields) {
    write(spdlog::level::debug, event, fields);
}
void Log::info(std::string_view event, LogFields fields) {
    write(spdlog::level::info, event, fields);
}
void Log::warn(std::string_view event, LogFields fields) {
    write(spdlog::level::warn, event, fields);
}
void Log::error(std::string_view event, LogFields fields) {
    write(spdlog::level::err, event, fields);
}

void Log::set_level(config::LogLevel level) {
    logger_->set_level(level_of(level));
}

void Log::write(int level, std::string_view event, LogFields fields) {
    const auto severity = static_cast<spdlog::level::level_enum>(level);
    if (!logger_->should_log(severity)) return;
    const bool is_json = format_ == config::LogFormat::kJson;
    logger_->log(severity,
                 spdlog::string_view_t(is_json ? json_line(name_of(severity), event, fields)
                                               : text_line(name_of(severity), event, fields)));
}

}  // namespace sluice
