#include "support/limit_client.h"

#include <boost/json.hpp>

namespace sluice::regional_test {

std::string request_for(const Ask& ask) {
    const boost::json::object body = {{"namespace", ask.name_space},
                                      {"identifier", ask.identifier},
                                      {"limit", ask.limit},
                                      {"duration", ask.duration.count()},
                                      {"cost", ask.cost}};
    server_test::Fields fields;
    if (ask.at) fields.emplace_back("X-Test-Time", std::to_string(*ask.at));
    return server_test::post("/v2/ratelimit.limit", boost::json::serialize(body), fields);
}

LimitResult read_limit_result(const server_test::Answer& answer) {
    LimitResult result{.status = answer.status, .body = answer.body};
    if (answer.status != 200) return result;
    const boost::json::value json = answer.json();
    result.passed = json.at("data").at("success").as_bool();
    result.remaining = json.at("data").at("remaining").as_int64();
    return result;
}

LimitResult LimitClient::ask(const Ask& ask) {
    const std::string request = request_for(ask);
    const auto begin = std::chrono::steady_clock::now();
    const server_test::Answer answer = connection_.ask(request);
    const auto took = std::chrono::steady_clock::now() - begin;
    LimitResult result = read_limit_result(answer);
    result.took = took;
    return result;
}

}  // namespace sluice::regional_test
