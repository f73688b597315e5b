// An HTTP response as it came over the wire.
#ifndef SLUICE_TESTS_SERVER_ANSWER_H_
#define SLUICE_TESTS_SERVER_ANSWER_H_

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

    // The value of the field, whatever the case of its name; empty if there is none.
    std::string field(std::string_view name) const;

    // The body; throws if it isn't JSON.
    boost::json::value json() const;
};

// Takes the first whole response from the front of `bytes`; none if it has not arrived completely.
// Throws if the bytes can't become a response with a Content-Length.
std::optional<Answer> take_answer(std::string& bytes);

// Reads JSON that a test spells out.
boost::json::value json(std::string_view text);

}  // namespace sluice::server_test

#endif  // SLUICE_TESTS_SERVER_ANSWER_H_
