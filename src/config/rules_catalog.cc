// The settings of gRPC and of the rate-limit service: a part of the catalog.
#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "config/address.h"
#include "config/assign.h"
#include "config/catalog.h"
#include "url/xds_url.h"

namespace sluice::config {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLongestPath = 4096;
constexpr std::size_t kLongestHeader = 64;
constexpr std::size_t kLongestServerName = 255;
constexpr std::size_t kLongestWorkspace = 512;
constexpr std::string_view kHeaderAllowed =
    "the name of a header field: 1 to 64 letters, digits and the characters !#$%&'*+-.^_`|~";
constexpr std::array<std::string_view, 2> kCountings = {"each", "all_or_nothing"};

bool assign_header(std::string& place, const Value& value) {
    constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
    const auto text = as_string(value);
    const auto fits = [&](unsigned char c) {
        return std::isalnum(c) != 0 || kMarks.find(static_cast<char>(c)) != std::string_view::npos;
    };
    return text && std::all_of(text->begin(), text->end(), fits) &&
           assign_text(place, value, kLongestHeader);
}

// A URL of another kind is not taken for a path.
bool assign_rules(std::string& place, const Value& value) {
    const auto text = as_string(value);
    if (!text) return false;
    const bool is_url = text->find("://") != std::string::npos;
    return (!is_url || parse_xds_url(*text)) && assign_text(place, value, kLongestPath);
}

const std::array kRulesCatalog = {
    Setting{
        "grpc.listen",
        "HOST:PORT",
        "Address for gRPC; without it gRPC is not served",
        "HOST:PORT as for listen",
        [](Settings& s, const Value& v) {
            const auto text = as_string(v);
            const auto address = text ? parse_address(*text) : std::nullopt;
            if (!address) return false;
            s.grpc.listen = address;
            return true;
        },
        [](const Settings& s) { return quoted(s.grpc.listen ? to_string(*s.grpc.listen) : ""); },
        "127.0.0.1:8081"},
    Setting{"grpc.insecure",
            "",
            "Accept gRPC calls from other machines without a client certificate, so that anyone "
            "who can reach the address can spend limits",
            "true or false",
            [](Settings& s, const Value& v) { return assign(s.grpc.insecure, as_bool(v)); },
            [](const Settings& s) { return show_bool(s.grpc.insecure); }},
    Setting{
        "grpc.max_streams",
        "N",
        "Maximum number of concurrent calls per gRPC connection",
        "a whole number from 1 to 100000",
        [](Settings& s, const Value& v) { return assign_count(s.grpc.max_streams, v, 1, 100'000); },
        [](const Settings& s) { return std::to_string(s.grpc.max_streams); }},
    Setting{"grpc.max_message_bytes",
            "N",
            "Maximum size of a gRPC message",
            "a whole number from 1024 to 67108864",
            [](Settings& s, const Value& v) {
                return assign_count(s.grpc.max_message_bytes, v, 1024, 64 << 20);
            },
            [](const Settings& s) { return std::to_string(s.grpc.max_message_bytes); }},
    Setting{"grpc.idle_timeout",
            "TIME",
            "How long a gRPC connection may stay open without a call",
            "a time from 100ms to 1d, such as 5m",
            [](Settings& s, const Value& v) {
                return assign_duration(s.grpc.idle_timeout, v, 100ms, 24h);
            },
            [](const Settings& s) { return show_duration(s.grpc.idle_timeout); }},
    Setting{"grpc.max_connection_age",
            "TIME",
            "How long a gRPC connection may stay open at all: it is drained between half of this "
            "time and all of it; 0s is without end",
            "a time from 0s to 30d, such as 1h",
            [](Settings& s, const Value& v) {
                return assign_duration(s.grpc.max_connection_age, v, 0ms, 24h * 30);
            },
            [](const Settings& s) { return show_duration(s.grpc.max_connection_age); }},
    Setting{"grpc.max_connection_age_grace",
            "TIME",
            "How long calls in flight may take after that",
            "a time from 0s to 1d, such as 30s",
            [](Settings& s, const Value& v) {
                return assign_duration(s.grpc.max_connection_age_grace, v, 0ms, 24h);
            },
            [](const Settings& s) { return show_duration(s.grpc.max_connection_age_grace); }},
    Setting{"rules",
            "PATH",
            "Rules of the rate-limit service: a file or a folder of YAML, or the URL of an xDS "
            "server that has them",
            "the path of a file or folder, or xds://HOST:PORT?node=ID[&cluster=NAME], or with TLS "
            "xdss://, where ID and NAME are 1 to 256 printable ASCII characters, those that are "
            "special in URLs as %XX",
            [](Settings& s, const Value& v) { return assign_rules(s.rules, v); },
            [](const Settings& s) { return quoted(s.rules); },
            "/etc/sluice/rules"},
    Setting{
        "rules_tls.ca",
        "FILE",
        "Trusted authorities for an xdss:// server of rules, in PEM; without it those of the "
        "system",
        "the path of a file",
        [](Settings& s, const Value& v) { return assign_text(s.rules_tls.ca, v, kLongestPath); },
        [](const Settings& s) { return quoted(s.rules_tls.ca); }},
    Setting{
        "rules_tls.cert",
        "FILE",
        "Client certificate for an xdss:// server of rules, in PEM",
        "the path of a file",
        [](Settings& s, const Value& v) { return assign_text(s.rules_tls.cert, v, kLongestPath); },
        [](const Settings& s) { return quoted(s.rules_tls.cert); }},
    Setting{
        "rules_tls.key",
        "FILE",
        "Its private key, in PEM",
        "the path of a file",
        [](Settings& s, const Value& v) { return assign_text(s.rules_tls.key, v, kLongestPath); },
        [](const Settings& s) { return quoted(s.rules_tls.key); }},
    Setting{"rules_tls.server_name",
            "NAME",
            "The name that the certificate of an xdss:// server must have; without it that of the "
            "URL",
            "a host name or an address of 1 to 255 bytes",
            [](Settings& s, const Value& v) {
                return assign_text(s.rules_tls.server_name, v, kLongestServerName);
            },
            [](const Settings& s) { return quoted(s.rules_tls.server_name); },
            "rules.example.com"},
    Setting{"rls.workspace",
            "NAME",
            "Workspace of the counts and overrides of the rate-limit service",
            "a name of 1 to 512 bytes",
            [](Settings& s, const Value& v) {
                return assign_text(s.rls.workspace, v, kLongestWorkspace);
            },
            [](const Settings& s) { return quoted(s.rls.workspace); }},
    Setting{"rls.counting",
            "WAY",
            "Whether the descriptors of a request are counted each by itself, as "
            "envoyproxy/ratelimit does, or all or nothing",
            "each or all_or_nothing",
            [](Settings& s, const Value& v) { return assign_word(s.rls.counting, v, kCountings); },
            [](const Settings& s) { return word_of(s.rls.counting, kCountings); }},
    Setting{"rls.count_denied",
            "BOOL",
            "Debit the hits of denied requests where they are counted each by itself, unless the "
            "rule says otherwise",
            "true or false",
            [](Settings& s, const Value& v) { return assign(s.rls.count_denied, as_bool(v)); },
            [](const Settings& s) { return show_bool(s.rls.count_denied); }},
    Setting{"rls.shadow_mode",
            "",
            "Answer every request with OK; metrics count what would have been denied",
            "true or false",
            [](Settings& s, const Value& v) { return assign(s.rls.shadow_mode, as_bool(v)); },
            [](const Settings& s) { return show_bool(s.rls.shadow_mode); }},
    Setting{"rls.quota_mode",
            "",
            "Treat every rule as a quota: a request is denied when all of its quotas are exhausted",
            "true or false",
            [](Settings& s, const Value& v) { return assign(s.rls.quota_mode, as_bool(v)); },
            [](const Settings& s) { return show_bool(s.rls.quota_mode); }},
    Setting{"rls.merge_domains",
            "",
            "Let several files hold rules of the same domain",
            "true or false",
            [](Settings& s, const Value& v) { return assign(s.rls.merge_domains, as_bool(v)); },
            [](const Settings& s) { return show_bool(s.rls.merge_domains); }},
    Setting{"rls.dynamic_metadata",
            "",
            "Send the request and the metadata of its rules as dynamic metadata",
            "true or false",
            [](Settings& s, const Value& v) { return assign(s.rls.dynamic_metadata, as_bool(v)); },
            [](const Settings& s) { return show_bool(s.rls.dynamic_metadata); }},
    Setting{"rls.needs_rules",
            "",
            "Report the service as unhealthy until rules are loaded",
            "true or false",
            [](Settings& s, const Value& v) { return assign(s.rls.needs_rules, as_bool(v)); },
            [](const Settings& s) { return show_bool(s.rls.needs_rules); }},
    Setting{"rls.ietf_headers",
            "",
            "Have the header fields RateLimit and RateLimit-Policy added to responses",
            "true or false",
            [](Settings& s, const Value& v) { return assign(s.rls.ietf_headers, as_bool(v)); },
            [](const Settings& s) { return show_bool(s.rls.ietf_headers); }},
    Setting{"rls.response_headers",
            "",
            "Have three header fields about the tightest limit added to responses",
            "true or false",
            [](Settings& s, const Value& v) {
                return assign(s.rls.response_headers.enabled, as_bool(v));
            },
            [](const Settings& s) { return show_bool(s.rls.response_headers.enabled); }},
    Setting{
        "rls.limit_header",
        "NAME",
        "The one that holds the limit",
        kHeaderAllowed,
        [](Settings& s, const Value& v) { return assign_header(s.rls.response_headers.limit, v); },
        [](const Settings& s) { return quoted(s.rls.response_headers.limit); }},
    Setting{"rls.remaining_header",
            "NAME",
            "The one that holds what is left",
            kHeaderAllowed,
            [](Settings& s, const Value& v) {
                return assign_header(s.rls.response_headers.remaining, v);
            },
            [](const Settings& s) { return quoted(s.rls.response_headers.remaining); }},
    Setting{
        "rls.reset_header",
        "NAME",
        "The one that holds the seconds until the window ends",
        kHeaderAllowed,
        [](Settings& s, const Value& v) { return assign_header(s.rls.response_headers.reset, v); },
        [](const Settings& s) { return quoted(s.rls.response_headers.reset); }},
    Setting{"rls.request_headers",
            "",
            "Have the same added to requests, for the service behind Envoy",
            "true or false",
            [](Settings& s, const Value& v) {
                return assign(s.rls.request_headers.enabled, as_bool(v));
            },
            [](const Settings& s) { return show_bool(s.rls.request_headers.enabled); }},
    Setting{
        "rls.request_limit_header",
        "NAME",
        "The one that holds the limit",
        kHeaderAllowed,
        [](Settings& s, const Value& v) { return assign_header(s.rls.request_headers.limit, v); },
        [](const Settings& s) { return quoted(s.rls.request_headers.limit); }},
    Setting{"rls.request_remaining_header",
            "NAME",
            "The one that holds what is left",
            kHeaderAllowed,
            [](Settings& s, const Value& v) {
                return assign_header(s.rls.request_headers.remaining, v);
            },
            [](const Settings& s) { return quoted(s.rls.request_headers.remaining); }},
    Setting{
        "rls.request_reset_header",
        "NAME",
        "The one that holds the seconds until the window ends",
        kHeaderAllowed,
        [](Settings& s, const Value& v) { return assign_header(s.rls.request_headers.reset, v); },
        [](const Settings& s) { return quoted(s.rls.request_headers.reset); }},
};

}  // namespace

std::span<const Setting> rules_catalog() {
    return kRulesCatalog;
}

}  // namespace sluice::config
