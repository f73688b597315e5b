#include "support/redis_proxy/resp_frame.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace sluice::redis_test {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

// The number behind the first byte of a line; -1, which stands for nothing, if there is none.
std::int64_t number_in(std::string_view line) {
    std::int64_t number = -1;
    if (!line.empty()) std::from_chars(line.data() + 1, line.data() + line.size(), number);
    return number;
}

}  // namespace

std::optional<std::size_t> frame_length(std::string_view bytes) {
    std::size_t at = 0;
    for (std::uint64_t missing = 1; missing > 0; --missing) {
        const std::size_t end = bytes.find(kLineEnd, at);
        if (end == std::string_view::npos) return std::nullopt;
        const std::string_view line = bytes.substr(at, end - at);
        at = end + kLineEnd.size();
        const char type = line.empty() ? '\0' : line.front();
        const std::int64_t number = type == '$' || type == '*' ? number_in(line) : -1;
        if (number < 0) continue;
        if (type == '*') {
            missing += static_cast<std::uint64_t>(number);
            continue;
        }
        const std::size_t left = bytes.size() - at;
        if (left < kLineEnd.size() || left - kLineEnd.size() < static_cast<std::uint64_t>(number))
            return std::nullopt;
        at += static_cast<std::size_t>(number) + kLineEnd.size();
    }
    return at;
}

std::optional<std::string> take_frame(std::string& bytes) {
    const auto length = frame_length(bytes);
    if (!length) return std::nullopt;
    std::string frame = bytes.substr(0, *length);
    bytes.erase(0, *length);
    return frame;
}

std::string command_name(std::string_view command) {
    const std::size_t count_end = command.find(kLineEnd);
    if (!command.starts_with('*') || count_end == std::string_view::npos) return {};
    command.remove_prefix(count_end + kLineEnd.size());
    const std::size_t length_end = command.find(kLineEnd);
    if (!command.starts_with('$') || length_end == std::string_view::npos) return {};
    const std::int64_t length = number_in(command.substr(0, length_end));
    command.remove_prefix(length_end + kLineEnd.size());
    std::string name(
        command.substr(0, static_cast<std::size_t>(std::max<std::int64_t>(length, 0))));
    for (char& letter : name)
        if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    return name;
}

}  // namespace sluice::redis_test
