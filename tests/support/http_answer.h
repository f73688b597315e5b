// HTTP responses: parsing, expectations on the shape of API answers, and numbers of the metrics
// text.
#ifndef SLUICE_TESTS_SUPPORT_HTTP_ANSWER_H_
#define SLUICE_TESTS_SUPPORT_HTTP_ANSWER_H_

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

namespace sluice::server_test {

using Fields = std::vector<std::pair<std::string, std::string>>;

struct Answer {
    int status = 0;
    Fields fields;  // in the order of their arrival
    std::string body;

    bool has(std::string_view name) const;

    // The value of the field, case-insensitive; empty if there is none.
    std::string field(std::string_view name) const;

    // The body; throws if it isn't JSON.
    boost::json::value json() const;
};

// Takes the first whole response from the front of `bytes`; none if it has not arrived completely.
// Throws if the bytes can't become a response with a Content-Length.
std::optional<Answer> take_answer(std::string& bytes);

// Parses JSON of a test.
boost::json::value json(std::string_view text);

// The names of an object's members, sorted.
std::vector<std::string> names_of(const boost::json::value& object);

// Expects a success with only `meta` and `data` (and the member `beside`), and returns `data`.
boost::json::value expect_data(const Answer& answer, std::string_view beside = {});

// Expects a well-formed error with this status, and returns `error`.
boost::json::value expect_error(const Answer& answer, int status);

// Expects a 400 with exactly these locations, in any order.
void expect_problems(const Answer& answer, std::vector<std::string> locations);

// The sum of all samples of `name` whose labels contain `label`; -1 if there is none.
double sum_of(std::string_view text, std::string_view name, std::string_view label = {});

}  // namespace sluice::server_test

#endif  // SLUICE_TESTS_SUPPORT_HTTP_ANSWER_H_
