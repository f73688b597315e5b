#include "config/ratelimit_variables.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "config/value.h"
#include "url/xds_url.h"

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

// Where rules come from.
constexpr std::string_view kConfigType = "CONFIG_TYPE";
constexpr std::string_view kFiles = "FILE";
constexpr std::string_view kXds = "GRPC_XDS_SOTW";
// Of rules from an xDS server.
constexpr std::string_view kXdsServer = "CONFIG_GRPC_XDS_SERVER_URL";
constexpr std::string_view kXdsNode = "CONFIG_GRPC_XDS_NODE_ID";
constexpr std::string_view kXdsUsesTls = "CONFIG_GRPC_XDS_SERVER_USE_TLS";
constexpr std::array kXdsTlsMappings = {
    Mapping{"CONFIG_GRPC_XDS_SERVER_TLS_CACERT", "rules_tls.ca", Kind::kText},
    Mapping{"CONFIG_GRPC_XDS_CLIENT_TLS_CERT", "rules_tls.cert", Kind::kText},
    Mapping{"CONFIG_GRPC_XDS_CLIENT_TLS_KEY", "rules_tls.key", Kind::kText},
    Mapping{"CONFIG_GRPC_XDS_SERVER_TLS_SAN", "rules_tls.server_name", Kind::kText},
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
constexpr std::array<std::string_view, 28> kIgnoredNames = {"GRPC_HOST",
                                                            "GRPC_PORT",
                                                            "GRPC_UDS",
                                                            "GRPC_MAX_CONNECTION_AGE",
                                                            "GRPC_MAX_CONNECTION_AGE_GRACE",
                                                            "GRPC_CLIENT_TLS_CACERT",
                                                            "GRPC_CLIENT_TLS_SAN",
                                                            "DEBUG_HOST",
                                                            "DEBUG_PORT",
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

bool is_of_xds(std::string_view name) {
    return name == kConfigType || name == kXdsServer || name == kXdsNode || name == kXdsUsesTls ||
           std::ranges::find(kXdsTlsMappings, name, &Mapping::variable) != kXdsTlsMappings.end();
}

bool is_ignored(std::string_view name) {
    if (is_of_xds(name)) return false;
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

using Variables = std::map<std::string, std::string>;

// The value of a variable, or `otherwise` if it is not set or empty.
std::string value_of(const Variables& environment, std::string_view name, std::string otherwise) {
    const auto given = environment.find(std::string(name));
    return given == environment.end() || given->second.empty() ? std::move(otherwise)
                                                               : given->second;
}

void add_values(const Variables& environment,
                std::span<const Mapping> mappings,
                std::vector<RatelimitValue>& values) {
    for (const Mapping& mapping : mappings) {
        const std::string given = value_of(environment, mapping.variable, "");
        if (given.empty()) continue;
        values.push_back({.key = std::string(mapping.key),
                          .variable = std::string(mapping.variable),
                          .value = converted(given, mapping.kind)});
    }
}

bool has_xds(const Variables& environment) {
    return value_of(environment, kConfigType, std::string(kFiles)) == kXds;
}

bool uses_tls(const Variables& environment) {
    return boolean_of(value_of(environment, kXdsUsesTls, "false")) == "true";
}

// The URL of the xDS server, whose address the variable may give as a target of gRPC.
std::string xds_url_of(const Variables& environment) {
    constexpr std::string_view kScheme = "dns:///";
    std::string server = value_of(environment, kXdsServer, "localhost:18000");
    if (server.starts_with(kScheme)) server.erase(0, kScheme.size());
    HostPort address;
    // An invalid one is refused with the URL.
    const std::string begin = uses_tls(environment) ? "xdss://" : "xds://";
    if (parse_host_port(server, address)) return begin + server;
    return to_string(XdsUrl{.tls = uses_tls(environment),
                            .server = address,
                            .node = value_of(environment, kXdsNode, "default")});
}

}  // namespace

std::vector<RatelimitValue> ratelimit_values(const Variables& environment) {
    std::vector<RatelimitValue> values;
    add_values(environment, kMappings, values);
    if (!has_xds(environment)) return values;
    const bool is_named = environment.contains(std::string(kXdsServer));
    values.push_back({.key = "rules",
                      .variable = std::string(is_named ? kXdsServer : kConfigType),
                      .value = xds_url_of(environment)});
    if (uses_tls(environment)) add_values(environment, kXdsTlsMappings, values);
    return values;
}

std::vector<std::string> ratelimit_problems(const Variables& environment) {
    std::vector<std::string> problems;
    const std::string type = value_of(environment, kConfigType, std::string(kFiles));
    if (type != kFiles && type != kXds) {
        problems.push_back(std::string(kConfigType) + " is " + quoted(type) +
                           "; allowed is FILE or GRPC_XDS_SOTW");
    }
    const std::string tls = boolean_of(value_of(environment, kXdsUsesTls, "false"));
    if (tls != "true" && tls != "false") {
        problems.push_back(std::string(kXdsUsesTls) + " is " + quoted(tls) +
                           "; allowed is true or false");
    }
    return problems;
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
           is_of_xds(name) || is_ignored(name);
}

}  // namespace sluice::config
