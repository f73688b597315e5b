#include "log/log.h"

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/json_text.h"

namespace sluice {
namespace {

std::string_view name_of(LogLevel level) {
    switch (level) {
        case LogLevel::kDebug:
            return "debug";
        case LogLevel::kWarn:
            return "warn";
        case LogLevel::kError:
            return "error";
        default:
            return "info";
    }
}

// Appends `number` with at least `width` digits.
void append_padded(std::string& out, std::int64_t number, std::size_t width) {
    const std::string digits = std::to_string(number);
    out.append(width - std::min(width, digits.size()), '0');
    out += digits;
}

// "2026-01-31T12:00:00.000Z". gmtime_r() would take a lock that all threads share.
void append_time(std::string& out, UnixTime now) {
    const auto day = std::chrono::floor<std::chrono::days>(now);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss time(now - day);
    append_padded(out, static_cast<int>(date.year()), 4);
    out += '-';
    append_padded(out, static_cast<unsigned>(date.month()), 2);
    out += '-';
    append_padded(out, static_cast<unsigned>(date.day()), 2);
    out += 'T';
    append_padded(out, time.hours().count(), 2);
    out += ':';
    append_padded(out, time.minutes().count(), 2);
    out += ':';
    append_padded(out, time.seconds().count(), 2);
    out += '.';
    append_padded(out, time.subseconds().count(), 3);
    out += 'Z';
}

// Whether a value can stand in a line of text without quotes.
bool is_plain(std::string_view text) {
    const auto needs_quotes = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte <= ' ' || byte >= 0x7f || c == '"' || c == '=' || c == '\\';
    };
    return !text.empty() && std::none_of(text.begin(), text.end(), needs_quotes);
}

std::string text_line(LogLevel level, std::string_view event, LogFields fields) {
    std::string line;
    append_time(line, exact_wall_time());
    line += ' ';
    line += name_of(level);
    line += ' ';
    line += event;
    for (const LogField& field : fields) {
        line += ' ';
        line += field.name();
        line += '=';
        if (!field.is_text() || is_plain(field.value())) {
            line += field.value();
        } else {
            append_json_string(line, field.value());
        }
    }
    line += '\n';
    return line;
}

std::string json_line(LogLevel level, std::string_view event, LogFields fields) {
    std::string line = "{\"time\":\"";
    append_time(line, exact_wall_time());
    line += "\",\"level\":";
    append_json_string(line, name_of(level));
    line += ",\"event\":";
    append_json_string(line, event);
    for (const LogField& field : fields) {
        line += ',';
        append_json_string(line, field.name());
        line += ':';
        if (field.is_text()) {
            append_json_string(line, field.value());
        } else {
            line += field.value();
        }
    }
    line += "}\n";
    return line;
}

std::string line_of(LogFormat format, LogLevel level, std::string_view event, LogFields fields) {
    return format == LogFormat::kJson ? json_line(level, event, fields)
                                      : text_line(level, event, fields);
}

}  // namespace

LogField::LogField(std::string_view name, std::string_view text)
    : name_(name), value_(text), is_text_(true) {}
LogField::LogField(std::string_view name, bool value)
    : name_(name), value_(value ? "true" : "false"), is_text_(false) {}

Log::Log(const LogOptions& options)
    : format_(options.format),
      level_(options.level),
      writer_({.descriptor = options.descriptor,
               // The thread that calls it may outlive the log.
               .describe_dropped = [format = options.format](std::uint64_t lines) {
                   return line_of(format, LogLevel::kWarn, "log_lines_dropped", {{"lines", lines}});
               }}) {}

void Log::debug(std::string_view event, LogFields fields) {
    write(LogLevel::kDebug, event, fields);
}
void Log::info(std::string_view event, LogFields fields) {
    write(LogLevel::kInfo, event, fields);
}
void Log::warn(std::string_view event, LogFields fields) {
    write(LogLevel::kWarn, event, fields);
}
void Log::error(std::string_view event, LogFields fields) {
    write(LogLevel::kError, event, fields);
}

void Log::write(LogLevel level, std::string_view event, LogFields fields) {
    if (level < level_.load(std::memory_order_relaxed)) return;
    writer_.append(line_of(format_, level, event, fields));
}

}  // namespace sluice
