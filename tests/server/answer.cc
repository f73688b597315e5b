#include "server/answer.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <stdexcept>

#include <boost/json/src.hpp>

namespace sluice::server_test {
namespace {

bool same_name(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
        return std::tolower(x) == std::tolower(y);
    });
}

[[noreturn]] void malformed(std::string_view what, std::string_view bytes) {
    throw std::runtime_error("the answer is malformed (" + std::string(what) + "):\n" +
                             std::string(bytes));
}

std::size_t number(std::string_view digits) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) malformed("number", digits);
    return value;
}

// "HTTP/1.1 200 OK"
int status_of(std::string_view line) {
    if (!line.starts_with("HTTP/1.1 ") || line.size() < 12) malformed("status line", line);
    return static_cast<int>(number(line.substr(9, 3)));
}

Fields fields_of(std::string_view lines) {
    Fields fields;
    while (!lines.empty()) {
        const std::size_t end = lines.find("\r\n");
        const std::string_view line = lines.substr(0, end);
        const std::size_t colon = line.find(": ");
        if (colon == std::string_view::npos) malformed("field", line);
        fields.emplace_back(line.substr(0, colon), line.substr(colon + 2));
        lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 2);
    }
    return fields;
}

}  // namespace

bool Answer::has(std::string_view name) const {
    return std::any_of(
        fields.begin(), fields.end(), [&](const auto& f) { return same_name(f.first, name); });
}

std::string Answer::field(std::string_view name) const {
    for (const auto& [key, value] : fields)
        if (same_name(key, name)) return value;
    return {};
}

boost::json::value Answer::json() const {
    return server_test::json(body);
}

std::optional<Answer> take_answer(std::string& bytes) {
    const std::size_t end = bytes.find("\r\n\r\n");
    if (end == std::string::npos) return std::nullopt;
    const std::string_view head = std::string_view(bytes).substr(0, end);
    const std::size_t line = std::min(head.find("\r\n"), head.size());

    Answer answer;
    answer.status = status_of(head.substr(0, line));
    answer.fields = fields_of(head.substr(std::min(line + 2, head.size())));
    const bool bodiless = answer.status == 100 || answer.status == 204;
    if (!bodiless && !answer.has("Content-Length")) malformed("no Content-Length", head);
    const std::size_t length = bodiless ? 0 : number(answer.field("Content-Length"));
    if (bytes.size() < end + 4 + length) return std::nullopt;
    answer.body = bytes.substr(end + 4, length);
    bytes.erase(0, end + 4 + length);
    return answer;
}

boost::json::value json(std::string_view text) {
    boost::json::error_code failed;
    auto value = boost::json::parse({text.data(), text.size()}, failed);
    if (failed) throw std::runtime_error("not JSON: " + std::string(text));
    return value;
}

}  // namespace sluice::server_test
