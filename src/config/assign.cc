#include "config/assign.h"

#include <charconv>

#include "config/duration.h"

namespace sluice::config {

using std::chrono::milliseconds;

std::optional<std::string> as_string(const Value& value) {
    if (const auto* text = std::get_if<UntypedText>(&value)) return text->text;
    if (const auto* string = std::get_if<std::string>(&value)) return *string;
    return std::nullopt;
}

std::optional<std::int64_t> as_integer(const Value& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
    const auto* text = std::get_if<UntypedText>(&value);
    if (text == nullptr) return std::nullopt;
    std::int64_t integer = 0;
    const char* const last = text->text.data() + text->text.size();
    const auto [end, failed] = std::from_chars(text->text.data(), last, integer);
    if (failed != std::errc{} || end != last) return std::nullopt;
    return integer;
}

std::optional<bool> as_bool(const Value& value) {
    if (const auto* boolean = std::get_if<bool>(&value)) return *boolean;
    const auto* text = std::get_if<UntypedText>(&value);
    if (text == nullptr) return std::nullopt;
    if (text->text == "true" || text->text == "1") return true;
    if (text->text == "false" || text->text == "0") return false;
    return std::nullopt;
}

bool assign_count(std::size_t& place, const Value& value, std::int64_t least, std::int64_t most) {
    const auto integer = as_integer(value);
    if (!integer || *integer < least || *integer > most) return false;
    place = static_cast<std::size_t>(*integer);
    return true;
}

bool assign_duration(milliseconds& place,
                     const Value& value,
                     milliseconds least,
                     milliseconds most) {
    const auto text = as_string(value);
    const auto duration = text ? parse_duration(*text) : std::nullopt;
    if (!duration || *duration < least || *duration > most) return false;
    place = *duration;
    return true;
}

bool assign_text(std::string& place, const Value& value, std::size_t most) {
    auto text = as_string(value);
    const bool fits =
        text && !text->empty() && text->size() <= most && text->find('\0') == std::string::npos;
    return fits && assign(place, std::move(text));
}

std::string show_bool(bool value) {
    return value ? "true" : "false";
}

std::string show_duration(milliseconds duration) {
    return quoted(to_string(duration));
}

}  // namespace sluice::config
