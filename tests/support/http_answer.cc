#include "support/http_answer.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

#include <boost/json.hpp>
#include <boost/json/src.hpp>
#include <gtest/gtest.h>

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

namespace {

void expect_meta(const boost::json::value& body) {
    EXPECT_EQ(names_of(body.at("meta")), std::vector<std::string>{"requestId"});
    EXPECT_TRUE(body.at("meta").at("requestId").as_string().starts_with("req_"));
}

void expect_texts(const boost::json::value& object, const std::vector<std::string>& names) {
    for (const std::string& name : names)
        EXPECT_FALSE(object.at(name).as_string().empty()) << name;
}

}  // namespace

std::vector<std::string> names_of(const boost::json::value& object) {
    std::vector<std::string> names;
    for (const auto& member : object.as_object())
        names.emplace_back(member.key());
    std::sort(names.begin(), names.end());
    return names;
}

boost::json::value expect_data(const Answer& answer, std::string_view beside) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.field("Content-Type"), "application/json");
    const boost::json::value body = answer.json();
    std::vector<std::string> names = {"data", "meta"};
    if (!beside.empty()) names.emplace_back(beside);
    EXPECT_EQ(names_of(body), names) << answer.body;
    expect_meta(body);
    return body.at("data");
}

boost::json::value expect_error(const Answer& answer, int status) {
    EXPECT_EQ(answer.status, status) << answer.body;
    const boost::json::value body = answer.json();
    EXPECT_EQ(names_of(body), (std::vector<std::string>{"error", "meta"})) << answer.body;
    expect_meta(body);
    const boost::json::value error = body.at("error");
    std::vector<std::string> names = {"detail", "status", "title", "type"};
    if (status == 400) names.insert(names.begin() + 1, "errors");
    EXPECT_EQ(names_of(error), names) << answer.body;
    EXPECT_EQ(error.at("status").as_int64(), status);
    expect_texts(error, {"title", "detail", "type"});
    if (status != 400) return error;
    EXPECT_FALSE(error.at("errors").as_array().empty()) << answer.body;
    for (const auto& problem : error.at("errors").as_array()) {
        EXPECT_EQ(names_of(problem), (std::vector<std::string>{"location", "message"}));
        expect_texts(problem, {"location", "message"});
    }
    return error;
}

void expect_problems(const Answer& answer, std::vector<std::string> locations) {
    const boost::json::value error = expect_error(answer, 400);
    std::vector<std::string> found;
    for (const auto& problem : error.at("errors").as_array())
        found.emplace_back(problem.at("location").as_string());
    std::sort(found.begin(), found.end());
    std::sort(locations.begin(), locations.end());
    EXPECT_EQ(found, locations) << answer.body;
}

double sum_of(std::string_view text, std::string_view name, std::string_view label) {
    std::optional<double> sum;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(name)) continue;
        const char next = line.size() > name.size() ? line[name.size()] : ' ';
        if (next != ' ' && next != '{') continue;
        if (line.find(label) == std::string::npos) continue;
        sum = sum.value_or(0) + std::strtod(line.c_str() + line.rfind(' '), nullptr);
    }
    return sum.value_or(-1);
}

}  // namespace sluice::server_test
