#include "http/api/header_values.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "http/wire/characters.h"

namespace sluice::http {
namespace {

// The next part of `rest` up to `separator`, trimmed; a separator between quotes is text. `rest`
// becomes what follows.
std::string_view next_part(std::string_view& rest, char separator) {
    std::size_t end = 0;
    bool quoted = false;
    for (; end < rest.size() && (quoted || rest[end] != separator); ++end) {
        if (rest[end] == '"') quoted = !quoted;
        if (quoted && rest[end] == '\\') ++end;
    }
    end = std::min(end, rest.size());
    const std::string_view part = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return part;
}

std::string_view unquote(std::string_view text) {
    if (text.size() < 2 || text.front() != '"' || text.back() != '"') return text;
    return text.substr(1, text.size() - 2);
}

// A quality from 0 to 1 in thousandths: "0.5" is 500. What can't be read counts as 1, as if it were
// not there.
int parse_quality(std::string_view text) {
    if (!text.starts_with("0")) return 1000;
    if (text.size() < 2 || text[1] != '.') return 0;
    int quality = 0;
    int unit = 100;
    for (const char c : text.substr(2, 3)) {
        if (c < '0' || c > '9') return 1000;
        quality += (c - '0') * unit;
        unit /= 10;
    }
    return quality;
}

int quality_of(std::string_view parameters) {
    while (!parameters.empty()) {
        const std::string_view parameter = next_part(parameters, ';');
        if (parameter.starts_with("q=") || parameter.starts_with("Q=")) {
            return parse_quality(parameter.substr(2));
        }
    }
    return 1000;
}

}  // namespace

bool is_json(std::string_view content_type) {
    return equal_in_any_case(next_part(content_type, ';'), "application/json");
}

bool accepts_problem_json(std::string_view accept) {
    int problem = 0;
    int json = 0;
    while (!accept.empty()) {
        std::string_view range = next_part(accept, ',');
        const std::string_view type = next_part(range, ';');
        if (equal_in_any_case(type, "application/problem+json")) problem = quality_of(range);
        if (equal_in_any_case(type, "application/json")) json = quality_of(range);
    }
    return problem > 0 && problem >= json;
}

bool prefers_429(std::string_view prefer) {
    while (!prefer.empty()) {
        std::string_view preference = next_part(prefer, ',');
        std::string_view setting = next_part(preference, ';');
        const std::string_view name = next_part(setting, '=');
        if (equal_in_any_case(name, "status") && unquote(trim(setting)) == "429") return true;
    }
    return false;
}

std::optional<std::string_view> bearer_token(std::string_view authorization) {
    constexpr std::string_view kScheme = "Bearer";
    authorization = trim(authorization);
    if (!equal_in_any_case(authorization.substr(0, kScheme.size()), kScheme)) return std::nullopt;
    authorization.remove_prefix(kScheme.size());
    if (!authorization.empty() && authorization.front() != ' ') return std::nullopt;
    return trim(authorization);
}

std::optional<UnixTime> test_time(std::string_view value) {
    constexpr std::int64_t kMaxTime = (std::int64_t{1} << 53) - 1;
    value = trim(value);
    std::int64_t time = -1;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), time);
    const bool is_whole = error == std::errc{} && end == value.data() + value.size();
    if (!is_whole || time < 0 || time > kMaxTime) return std::nullopt;
    return UnixTime{std::chrono::milliseconds{time}};
}

}  // namespace sluice::http
