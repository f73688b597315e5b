// What every answer of the API has in common, as expectations.
#ifndef SLUICE_TESTS_SERVER_EXPECT_H_
#define SLUICE_TESTS_SERVER_EXPECT_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "server/answer.h"

namespace sluice::server_test {

// The names of an object's members, sorted.
std::vector<std::string> names_of(const boost::json::value& object);

// Expects a success with `meta` and `data` alone (and `pagination`, where told), and gives `data`.
boost::json::value expect_data(const Answer& answer, std::string_view beside = {});

// Expects the shape of an error with this status in each place where it stands, and gives `error`.
boost::json::value expect_error(const Answer& answer, int status);

// Expects a 400 with exactly these locations, in any order.
void expect_problems(const Answer& answer, std::vector<std::string> locations);

}  // namespace sluice::server_test

#endif  // SLUICE_TESTS_SERVER_EXPECT_H_
