#include "server/expect.h"

#include <algorithm>

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace sluice::server_test {
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

}  // namespace sluice::server_test
