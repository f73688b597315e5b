// The settings of the rate-limit service that change its answers.
#ifndef SLUICE_RLS_ANSWER_OPTIONS_H_
#define SLUICE_RLS_ANSWER_OPTIONS_H_

#include <optional>
#include <string>

#include "config/settings.h"

namespace sluice::rls {

// How the descriptors of one request are counted.
enum class Counting {
    kEach,          // each by itself, as envoyproxy/ratelimit does
    kAllOrNothing,  // those that can deny the request are all spent, or none
};

// The names of the header fields that describe the limit with least left to a client.
struct LimitHeaders {
    std::string limit = "RateLimit-Limit";
    std::string remaining = "RateLimit-Remaining";
    std::string reset = "RateLimit-Reset";

    bool operator==(const LimitHeaders&) const = default;
};

struct AnswerOptions {
    std::string workspace = "default";  // of all counts and overrides
    Counting counting = Counting::kEach;
    bool count_denied = true;  // debit denied hits, with kEach, unless the rule says otherwise
    bool shadow_mode = false;  // the overall code is always OK
    bool quota_mode = false;   // every descriptor is a quota
    bool dynamic_metadata = false;
    std::optional<LimitHeaders> response_headers = {};
    std::optional<LimitHeaders> request_headers = {};  // for the service behind Envoy
    // RateLimit and RateLimit-Policy, as in answers over HTTP.
    bool ietf_headers = false;

    bool operator==(const AnswerOptions&) const = default;
};

AnswerOptions answer_options(const config::RlsSettings& settings);

}  // namespace sluice::rls

#endif  // SLUICE_RLS_ANSWER_OPTIONS_H_
