#include "config/ratelimit_variables.h"

#include <algorithm>
#include <array>

namespace sluice::config {
namespace {

enum class Kind { kText, kBoolean, kOpposite };

struct Mapping {
    std::string_view variable;
    std::string_view key;
    Kind kind;
};

constexpr std::array kMappings = {
    Mapping{"SHADOW_MODE", "rls.shadow_mode", Kind::kBoolean},
    Mapping{"QUOTA_MODE", "rls.quota_mode", Kind::kBoolean},
    Mapping{"RESPONSE_DYNAMIC_METADATA", "rls.dynamic_metadata", Kind::kBoolean},
    Mapping{"MERGE_DOMAIN_CONFIG", "rls.merge_domains", Kind::kBoolean},
    Mapping{"STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT", "rls.count_denied", Kind::kOpposite},
    Mapping{"HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED", "rls.needs_rules", Kind::kBoolean},
    Mapping{"LIMIT_RESPONSE_HEADERS_ENABLED", "rls.response_headers", Kind::kBoolean},
    Mapping{"LIMIT_LIMIT_HEADER", "rls.limit_header", Kind::kText},
    Mapping{"LIMIT_REMAINING_HEADER", "rls.remaining_header", Kind::kText},
    Mapping{"LIMIT_RESET_HEADER", "rls.reset_header", Kind::kText},
    Mapping{"LIMIT_REQUEST_HEADERS_ENABLED", "rls.request_headers", Kind::kBoolean},
    Mapping{"LIMIT_REQUEST_LIMIT_HEADER", "rls.request_limit_header", Kind::kText},
    Mapping{"LIMIT_REQUEST_REMAINING_HEADER", "rls.request_remaining_header", Kind::kText},
    Mapping{"LIMIT_REQUEST_RESET_HEADER", "rls.request_reset_header", Kind::kText},
};

// Beginnings and whole names of variables without a meaning here. Names that other programs use for
// other things, such as HOST and PORT, are not among them.
constexpr std::array<std::string_view, 8> kIgnoredBeginnings = {"REDIS_",
                                                                "MEMCACHE_",
                                                                "CONFIG_GRPC_XDS_",
                                                                "XDS_CLIENT_",
                                                                "RUNTIME_",
                                                                "GRPC_SERVER_",
                                                                "TRACING_",
                                                                "USE_DOG_STATSD"};
constexpr std::array<std::string_view, 29> kIgnoredNames = {"GRPC_HOST",
                                                            "GRPC_PORT",
                                                            "GRPC_UDS",
                                                            "GRPC_MAX_CONNECTION_AGE",
                                                            "GRPC_MAX_CONNECTION_AGE_GRACE",
                                                            "GRPC_CLIENT_TLS_CACERT",
                                                            "GRPC_CLIENT_TLS_SAN",
                                                            "DEBUG_HOST",
                                                            "DEBUG_PORT",
                                                            "CONFIG_TYPE",
                                                            "FORCE_START_WITHOUT_INITIAL_CONFIG",
                                                            "MAX_CONCURRENT_REQUESTS",
                                                            "REQUEST_TIMEOUT",
                                                            "USE_STATSD",
                                                            "STATSD_HOST",
                                                            "STATSD_PORT",
                                                            "EXTRA_TAGS",
                                                            "STATS_FLUSH_INTERVAL",
                                                            "DISABLE_STATS",
                                                            "SANITIZE_DESCRIPTOR_METRIC_DOTS",
                                                            "USE_PROMETHEUS",
                                                            "PROMETHEUS_ADDR",
                                                            "PROMETHEUS_PATH",
                                                            "PROMETHEUS_MAPPER_YAML",
                                                            "EXPIRATION_JITTER_MAX_SECONDS",
                                                            "LOCAL_CACHE_SIZE_IN_BYTES",
                                                            "NEAR_LIMIT_RATIO",
                                                            "CACHE_KEY_PREFIX",
                                                            "USE_CALENDAR_MONTH_RATE_LIMIT"};

bool is_ignored(std::string_view name) {
    return std::ranges::find(kIgnoredNames, name) != kIgnoredNames.end() ||
           name == "BACKEND_TYPE" ||
           std::ranges::any_of(kIgnoredBeginnings,
                               [&](std::string_view begin) { return name.starts_with(begin); });
}

// The booleans of Go as true and false; any other text as it is, so that it is refused.
std::string boolean_of(const std::string& text) {
    constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "T", "TRUE", "true", "True"};
    constexpr std::array<std::string_view, 6> kFalse = {"0", "f", "F", "FALSE", "false", "False"};
    if (std::ranges::find(kTrue, text) != kTrue.end()) return "true";
    if (std::ranges::find(kFalse, text) != kFalse.end()) return "false";
    return text;
}

std::string converted(const std::string& text, Kind kind) {
    if (kind == Kind::kText) return text;
    const std::string boolean = boolean_of(text);
    if (kind == Kind::kBoolean) return boolean;
    return boolean == "true" ? "false" : boolean == "false" ? "true" : boolean;
}

}  // namespace

std::vector<RatelimitValue> ratelimit_values(
    const std::map<std::string, std::string>& environment) {
    std::vector<RatelimitValue> values;
    for (const Mapping& mapping : kMappings) {
        const auto given = environment.find(std::string(mapping.variable));
        if (given == environment.end() || given->second.empty()) continue;
        values.push_back({.key = std::string(mapping.key),
                          .variable = given->first,
                          .value = converted(given->second, mapping.kind)});
    }
    return values;
}

std::vector<std::string> ignored_ratelimit_variables(
    const std::map<std::string, std::string>& environment) {
    std::vector<std::string> names;
    for (const auto& [name, value] : environment)
        if (is_ignored(name)) names.push_back(name);
    return names;
}

bool is_ratelimit_variable(std::string_view name) {
    return std::ranges::find(kMappings, name, &Mapping::variable) != kMappings.end() ||
           is_ignored(name);
}

}  // namespace sluice::config
