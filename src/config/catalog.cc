#include "config/catalog.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "config/assign.h"
#include "config/duration.h"
#include "url/store_url.h"

namespace sluice::config {
namespace {

using namespace std::chrono_literals;

// An origin that nodes can share. Memory is shared only within a process.
bool is_shared_origin(const std::string& url) {
    return url.starts_with("redis") && !invalid_origin(url);
}

// A store that regions can share.
bool is_shared_global(const std::string& url) {
    return !url.starts_with("memory:") && !invalid_global(url);
}

// A bus that regions can share.
bool is_shared_bus(const std::string& url) {
    return !url.starts_with("memory:") && !invalid_bus(url);
}

// The name of a workspace.
bool is_workspace(const std::string& text) {
    return !text.empty() && text.size() <= 255;
}

bool is_host_name(const std::string& text) {
    const auto fits = [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
    };
    return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), fits);
}

constexpr std::size_t kLongestPath = 4096;
constexpr std::size_t kLongestRegion = 48;

constexpr std::array<std::string_view, 6> kLevels = {
    "trace", "debug", "info", "warn", "error", "off"};
constexpr std::array<std::string_view, 2> kFormats = {"text", "json"};

const std::array kCatalog = {
    Setting{"listen",
            "HOST:PORT",
            "Address to listen on; port 0 takes any free port",
            "HOST:PORT with an IPv4 address, an IPv6 address in brackets or localhost, and a port "
            "from 0 to 65535",
            [](Settings& s, const Value& v) {
                const auto text = as_string(v);
                return text && assign(s.listen, parse_address(*text));
            },
            [](const Settings& s) { return quoted(to_string(s.listen)); }},
    Setting{
        "admin_listen",
        "[HOST:]PORT",
        "Address of the web page, its calls and GET /metrics; on 127.0.0.1 if only a port is "
        "given. "
        "Without it they are not served",
        "a port from 0 to 65535, or HOST:PORT as for listen",
        [](Settings& s, const Value& v) {
            const auto port = as_integer(v);
            const auto text = port ? std::to_string(*port) : as_string(v);
            const auto address = text ? parse_admin_address(*text) : std::nullopt;
            if (!address) return false;
            s.admin_listen = address;
            return true;
        },
        [](const Settings& s) { return quoted(s.admin_listen ? to_string(*s.admin_listen) : ""); },
        "127.0.0.1:9090"},
    Setting{"region",
            "NAME",
            "Name of the region of this node",
            "a name of 1 to 48 bytes",
            [](Settings& s, const Value& v) { return assign_text(s.region, v, kLongestRegion); },
            [](const Settings& s) { return quoted(s.region); }},
    Setting{
        "data_dir",
        "DIR",
        "Folder for overrides and, without an origin, counts; without it they are kept in memory",
        "the path of a folder, which is created if it is missing",
        [](Settings& s, const Value& v) { return assign_text(s.data_dir, v, kLongestPath); },
        [](const Settings& s) { return quoted(s.data_dir); },
        "/var/lib/sluice"},
    Setting{
        "origin",
        "URL",
        "Redis through which the nodes of the region share counts; prefer the environment or the "
        "file for a password",
        "redis://[user:password@]host[:port][,host[:port]...][/db], "
        "redis+sentinel://[user:password@]host[:port][,host[:port]...]/master[/db], rediss:// and "
        "rediss+sentinel:// for TLS, or redis+socket://path; without an @ in a password (write "
        "%40)",
        [](Settings& s, const Value& v) {
            auto text = as_string(v);
            return text && text->size() <= kLongestPath && is_shared_origin(*text) &&
                   assign(s.origin, std::move(text));
        },
        [](const Settings& s) { return quoted(shown_origin(s.origin)); },
        "rediss://redis.internal:6379"},
    Setting{
        "origin_timeout",
        "TIME",
        "How long a request waits for the origin before it is decided from local counts",
        "a time from 10ms to 10s, such as 300ms",
        [](Settings& s, const Value& v) { return assign_duration(s.origin_timeout, v, 10ms, 10s); },
        [](const Settings& s) { return show_duration(s.origin_timeout); }},
    Setting{
        "origin_tls.ca",
        "FILE",
        "Trusted authorities for a rediss:// origin, in PEM; without it those of the system",
        "the path of a file",
        [](Settings& s, const Value& v) { return assign_text(s.origin_tls.ca, v, kLongestPath); },
        [](const Settings& s) { return quoted(s.origin_tls.ca); },
        "/etc/sluice/redis-ca.pem"},
    Setting{
        "origin_tls.cert",
        "FILE",
        "Client certificate for a rediss:// origin, in PEM",
        "the path of a file",
        [](Settings& s, const Value& v) { return assign_text(s.origin_tls.cert, v, kLongestPath); },
        [](const Settings& s) { return quoted(s.origin_tls.cert); },
        "/etc/sluice/redis.crt"},
    Setting{
        "origin_tls.key",
        "FILE",
        "Private key of that certificate, in PEM",
        "the path of a file",
        [](Settings& s, const Value& v) { return assign_text(s.origin_tls.key, v, kLongestPath); },
        [](const Settings& s) { return quoted(s.origin_tls.key); },
        "/etc/sluice/redis.key"},
    Setting{"global",
            "URL",
            "Database through which regions share counts and overrides; prefer the environment or "
            "the file for a password",
            "mysql://[user[:password]@]host[:port]/database, with percent signs for special "
            "characters (%40 for @), or sqlite:PATH",
            [](Settings& s, const Value& v) {
                auto text = as_string(v);
                return text && text->size() <= kLongestPath && is_shared_global(*text) &&
                       assign(s.global, std::move(text));
            },
            [](const Settings& s) { return quoted(shown_global(s.global)); },
            "mysql://sluice@db.internal:3306/sluice"},
    Setting{"global_replica",
            "URL",
            "Replica of the global database from which counts of other regions are read",
            "mysql://[user[:password]@]host[:port]/database, with percent signs for special "
            "characters (%40 for @)",
            [](Settings& s, const Value& v) {
                auto text = as_string(v);
                return text && text->size() <= kLongestPath && text->starts_with("mysql:") &&
                       is_shared_global(*text) && assign(s.global_replica, std::move(text));
            },
            [](const Settings& s) { return quoted(shown_global(s.global_replica)); },
            "mysql://sluice@db-replica.internal:3306/sluice"},
    Setting{"global_cleanup",
            "",
            "Delete expired counts from the global database, as `sluice cleanup` does",
            "true or false",
            [](Settings& s, const Value& v) { return assign(s.global_cleanup, as_bool(v)); },
            [](const Settings& s) { return show_bool(s.global_cleanup); }},
    Setting{"global_max_cells",
            "N",
            "Maximum number of cells of which counts of other regions are kept",
            "a whole number from 64 to 1000000000",
            [](Settings& s, const Value& v) {
                return assign_count(s.global_max_cells, v, 64, 1'000'000'000);
            },
            [](const Settings& s) { return std::to_string(s.global_max_cells); }},
    Setting{
        "global_min_regions",
        "N",
        "Least number of regions that share the limits; the database counts live ones",
        "a whole number from 1 to 1024",
        [](Settings& s, const Value& v) { return assign_count(s.global_min_regions, v, 1, 1024); },
        [](const Settings& s) { return std::to_string(s.global_min_regions); }},
    Setting{"bus",
            "URL",
            "NATS servers over which regions announce their counts to each other at once; prefer "
            "the environment or the file for a password",
            "nats://[user:password@]host[:port][,host[:port]...], with a token before the @ "
            "instead of user and password, or tls:// for TLS, with percent signs for special "
            "characters (%40 for @)",
            [](Settings& s, const Value& v) {
                auto text = as_string(v);
                return text && text->size() <= kLongestPath && is_shared_bus(*text) &&
                       assign(s.bus, std::move(text));
            },
            [](const Settings& s) { return quoted(shown_bus(s.bus)); },
            "tls://nats-1.internal:4222,nats-2.internal:4222"},
    Setting{
        "bus_credentials",
        "FILE",
        "NATS credentials file, with a JWT and its key, to log in with",
        "the path of a file",
        [](Settings& s, const Value& v) { return assign_text(s.bus_credentials, v, kLongestPath); },
        [](const Settings& s) { return quoted(s.bus_credentials); },
        "/etc/sluice/nats.creds"},
    Setting{"bus_tls.ca",
            "FILE",
            "Trusted authorities for a tls:// bus, in PEM; without it those of the system",
            "the path of a file",
            [](Settings& s, const Value& v) { return assign_text(s.bus_tls.ca, v, kLongestPath); },
            [](const Settings& s) { return quoted(s.bus_tls.ca); },
            "/etc/sluice/nats-ca.pem"},
    Setting{
        "bus_tls.cert",
        "FILE",
        "Client certificate for a tls:// bus, in PEM",
        "the path of a file",
        [](Settings& s, const Value& v) { return assign_text(s.bus_tls.cert, v, kLongestPath); },
        [](const Settings& s) { return quoted(s.bus_tls.cert); },
        "/etc/sluice/nats.crt"},
    Setting{"bus_tls.key",
            "FILE",
            "Private key of that certificate, in PEM",
            "the path of a file",
            [](Settings& s, const Value& v) { return assign_text(s.bus_tls.key, v, kLongestPath); },
            [](const Settings& s) { return quoted(s.bus_tls.key); },
            "/etc/sluice/nats.key"},
    Setting{"bus_workspaces",
            "NAMES",
            "Workspaces, separated by commas, whose announcements this node receives; without it "
            "those of all",
            "1 to 256 names of 1 to 255 bytes, separated by commas",
            [](Settings& s, const Value& v) {
                const auto text = as_string(v);
                const auto names = text ? parse_list(*text, is_workspace) : std::nullopt;
                return names && names->size() <= 256 && assign(s.bus_workspaces, names);
            },
            [](const Settings& s) { return quoted(joined(s.bus_workspaces)); },
            "default,acme"},
    Setting{"threads",
            "N",
            "Number of serving threads; 0 is one per core",
            "a whole number from 0 to 1024",
            [](Settings& s, const Value& v) { return assign_count(s.threads, v, 0, 1024); },
            [](const Settings& s) { return std::to_string(s.threads); }},
    Setting{
        "max_keys",
        "N",
        "Maximum number of keys in memory",
        "a whole number from 1 to 1000000000",
        [](Settings& s, const Value& v) { return assign_count(s.max_keys, v, 1, 1'000'000'000); },
        [](const Settings& s) { return std::to_string(s.max_keys); }},
    Setting{
        "drain_timeout",
        "TIME",
        "How long requests in flight may take after SIGTERM",
        "a time from 0s to 1h, such as 10s or 500ms",
        [](Settings& s, const Value& v) { return assign_duration(s.drain_timeout, v, 0ms, 1h); },
        [](const Settings& s) { return show_duration(s.drain_timeout); }},
    Setting{"test_clock",
            "",
            "Let a request's X-Test-Time header set the time of its decision (loopback only)",
            "true or false",
            [](Settings& s, const Value& v) { return assign(s.test_clock, as_bool(v)); },
            [](const Settings& s) { return show_bool(s.test_clock); }},
    Setting{"test_global_interval",
            "TIME",
            "How often the global database is read and written; needs test_clock",
            "a time from 10ms to 1h, such as 100ms, or 0s for the usual",
            [](Settings& s, const Value& v) {
                return assign_duration(s.test_global_interval, v, 10ms, 1h) ||
                       assign_duration(s.test_global_interval, v, 0ms, 0ms);
            },
            [](const Settings& s) { return show_duration(s.test_global_interval); }},
    Setting{"tls.cert",
            "FILE",
            "Certificate chain in PEM; makes the server speak HTTPS",
            "the path of a file",
            [](Settings& s, const Value& v) { return assign_text(s.tls.cert, v, kLongestPath); },
            [](const Settings& s) { return quoted(s.tls.cert); },
            "/etc/sluice/tls.crt"},
    Setting{"tls.key",
            "FILE",
            "Private key of the certificate, in PEM",
            "the path of a file",
            [](Settings& s, const Value& v) { return assign_text(s.tls.key, v, kLongestPath); },
            [](const Settings& s) { return quoted(s.tls.key); },
            "/etc/sluice/tls.key"},
    Setting{
        "tls.client_ca",
        "FILE",
        "Authorities of client certificates, in PEM; with it every client must show one",
        "the path of a file",
        [](Settings& s, const Value& v) { return assign_text(s.tls.client_ca, v, kLongestPath); },
        [](const Settings& s) { return quoted(s.tls.client_ca); },
        "/etc/sluice/clients.pem"},
    Setting{
        "behind_proxy",
        "",
        "A proxy in front terminates TLS: accept tokens over plain HTTP from other machines, and, "
        "if there are tokens, any Host",
        "true or false",
        [](Settings& s, const Value& v) { return assign(s.behind_proxy, as_bool(v)); },
        [](const Settings& s) { return show_bool(s.behind_proxy); }},
    Setting{
        "insecure_http",
        "",
        "Accept tokens over plain HTTP from other machines, although anyone on the network path "
        "can read them",
        "true or false",
        [](Settings& s, const Value& v) { return assign(s.insecure_http, as_bool(v)); },
        [](const Settings& s) { return show_bool(s.insecure_http); }},
    Setting{"allowed_hosts",
            "NAMES",
            "Host names, separated by commas, that requests to a listener on loopback may use "
            "besides localhost and loopback addresses",
            "host names without ports, separated by commas",
            [](Settings& s, const Value& v) {
                const auto text = as_string(v);
                return text && assign(s.allowed_hosts, parse_list(*text, is_host_name));
            },
            [](const Settings& s) { return quoted(joined(s.allowed_hosts)); },
            "limits.internal,limits.example"},
    Setting{"log.level",
            "LEVEL",
            "Least severe level that is logged",
            "trace, debug, info, warn, error or off",
            [](Settings& s, const Value& v) { return assign_word(s.log.level, v, kLevels); },
            [](const Settings& s) { return word_of(s.log.level, kLevels); }},
    Setting{"log.format",
            "FORMAT",
            "Format of log lines",
            "text or json",
            [](Settings& s, const Value& v) { return assign_word(s.log.format, v, kFormats); },
            [](const Settings& s) { return word_of(s.log.format, kFormats); }},
    Setting{"log.requests",
            "",
            "Log a line for each request",
            "true or false",
            [](Settings& s, const Value& v) { return assign(s.log.requests, as_bool(v)); },
            [](const Settings& s) { return show_bool(s.log.requests); }},
    Setting{"http.header_timeout",
            "TIME",
            "How long a request's header may take to arrive",
            "a time from 100ms to 1h, such as 10s",
            [](Settings& s, const Value& v) {
                return assign_duration(s.http.header_timeout, v, 100ms, 1h);
            },
            [](const Settings& s) { return show_duration(s.http.header_timeout); }},
    Setting{"http.body_timeout",
            "TIME",
            "How long a request's body may take to arrive",
            "a time from 100ms to 1h, such as 30s",
            [](Settings& s, const Value& v) {
                return assign_duration(s.http.body_timeout, v, 100ms, 1h);
            },
            [](const Settings& s) { return show_duration(s.http.body_timeout); }},
    Setting{"http.idle_timeout",
            "TIME",
            "How long a connection may stay open without a request",
            "a time from 100ms to 1d, such as 75s",
            [](Settings& s, const Value& v) {
                return assign_duration(s.http.idle_timeout, v, 100ms, 24h);
            },
            [](const Settings& s) { return show_duration(s.http.idle_timeout); }},
    Setting{"http.write_timeout",
            "TIME",
            "How long a client may take to read a response",
            "a time from 100ms to 1h, such as 30s",
            [](Settings& s, const Value& v) {
                return assign_duration(s.http.write_timeout, v, 100ms, 1h);
            },
            [](const Settings& s) { return show_duration(s.http.write_timeout); }},
    Setting{"http.max_connections",
            "N",
            "Maximum number of open connections",
            "a whole number from 1 to 10000000",
            [](Settings& s, const Value& v) {
                return assign_count(s.http.max_connections, v, 1, 10'000'000);
            },
            [](const Settings& s) { return std::to_string(s.http.max_connections); }},
    Setting{"http.max_pipelined",
            "N",
            "Maximum number of pipelined requests per connection",
            "a whole number from 1 to 10000",
            [](Settings& s, const Value& v) {
                return assign_count(s.http.max_pipelined, v, 1, 10'000);
            },
            [](const Settings& s) { return std::to_string(s.http.max_pipelined); }},
    Setting{"http.max_buffered_bytes",
            "N",
            "Maximum memory for unfinished requests and unread responses; above it the connections "
            "that hold most are closed",
            "a whole number from 1048576 to 1099511627776",
            [](Settings& s, const Value& v) {
                return assign_count(s.http.max_buffered_bytes, v, 1 << 20, 1LL << 40);
            },
            [](const Settings& s) { return std::to_string(s.http.max_buffered_bytes); }},
};

std::string with(std::string_view key, char separator, int (*shape)(int)) {
    std::string text;
    for (const char c : key) {
        text += c == '.' || c == '_' ? separator : static_cast<char>(shape(c));
    }
    return text;
}

}  // namespace

std::span<const Setting> catalog() {
    static const std::vector<Setting> all = [] {
        std::vector<Setting> settings(kCatalog.begin(), kCatalog.end());
        for (const std::span<const Setting> more : {rules_catalog(), trace_catalog()})
            settings.insert(settings.end(), more.begin(), more.end());
        return settings;
    }();
    return all;
}

const Setting* find_setting(std::string_view key) {
    const std::span<const Setting> all = catalog();
    const auto found = std::ranges::find(all, key, &Setting::key);
    return found == all.end() ? nullptr : &*found;
}

std::string variable_of(std::string_view key) {
    return "SLUICE_" +
           with(key, '_', [](int c) { return 'a' <= c && c <= 'z' ? c - 'a' + 'A' : c; });
}

std::string flag_of(std::string_view key) {
    return "--" + with(key, '-', [](int c) { return c; });
}

}  // namespace sluice::config
