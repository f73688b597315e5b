#include "cli/client.h"

#include <optional>
#include <utility>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <openssl/ssl.h>
#include <simdjson.h>

#include "base/json_text.h"
#include "cli/commands.h"
#include "config/token.h"
#include "config/value.h"

namespace sluice::cli {
namespace {

namespace asio = boost::asio;

// The shortest window that a server accepts.
constexpr std::chrono::milliseconds kShortestWindow{1000};

http::FetchRequest request_to(const Target& target, const std::string& path) {
    return {.host = target.url.host,
            .port = target.url.port,
            .authority = target.url.authority(),
            .path = target.url.prefix + path,
            .headers = {{"Accept", "application/json"}}};
}

void present_token(http::FetchRequest& request, const Target& target) {
    if (!target.token.empty())
        request.headers.emplace_back("Authorization", "Bearer " + target.token);
}

Result<http::FetchResponse> send(const ClientCall& call, const http::FetchRequest& request) {
    if (!call.target.url.tls) return http::fetch(request, call.timeout);
    try {
        asio::ssl::context tls = client_tls_context(call.target);
        return http::fetch(request, call.timeout, &tls);
    } catch (const boost::system::system_error& error) {
        return Error{kInvalidOption, request.authority + ": " + error.code().message()};
    }
}

// The server's explanation of an error; empty if it gives none.
std::string error_detail(const simdjson::dom::element& document) {
    std::string_view detail;
    std::string text;
    if (document["error"]["detail"].get(detail) == simdjson::SUCCESS) text = detail;
    simdjson::dom::array errors;
    if (document["error"]["errors"].get(errors) != simdjson::SUCCESS) return text;
    for (const simdjson::dom::element error : errors) {
        std::string_view location;
        std::string_view message;
        const bool is_complete = error["location"].get(location) == simdjson::SUCCESS &&
                                 error["message"].get(message) == simdjson::SUCCESS;
        if (is_complete) text += "\n  " + std::string(location) + ": " + std::string(message);
    }
    return text;
}

}  // namespace

Result<http::FetchResponse> post_json(const ClientCall& call,
                                      const std::string& path,
                                      const std::string& body) {
    http::FetchRequest post = request_to(call.target, path);
    post.method = "POST";
    post.headers.emplace_back("Content-Type", "application/json");
    present_token(post, call.target);
    post.body = body;
    return send(call, post);
}

Result<http::FetchResponse> get_json(const ClientCall& call, const std::string& path) {
    http::FetchRequest get = request_to(call.target, path);
    present_token(get, call.target);
    return send(call, get);
}

Result<http::FetchResponse> get_page(const ClientCall& call, const std::string& path) {
    return send(call, request_to(call.target, path));
}

std::string unexpected_response(const http::FetchResponse& response) {
    simdjson::dom::parser parser;
    simdjson::dom::element document;
    const bool is_json = parser.parse(response.body).get(document) == simdjson::SUCCESS;
    return "the server answered " + std::to_string(response.status) + ": " +
           (is_json ? error_detail(document) : "not JSON; is it Sluice?");
}

boost::asio::ssl::context client_tls_context(const Target& target) {
    namespace ssl = boost::asio::ssl;
    ssl::context context(ssl::context::tls_client);
    SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
    if (!target.url.tls) return context;
    if (target.ca_cert.empty()) {
        context.set_default_verify_paths();
    } else {
        context.load_verify_file(target.ca_cert);
    }
    if (!target.client_cert.empty()) {
        context.use_certificate_chain_file(target.client_cert);
        context.use_private_key_file(target.client_key, ssl::context::pem);
    }
    context.set_verify_mode(target.insecure ? ssl::verify_none : ssl::verify_peer);
    return context;
}

namespace {

// The position of the first control character from U+0080 to U+009F, in UTF-8.
std::size_t find_c1(std::string_view text) {
    for (std::size_t at = 0; at + 1 < text.size(); ++at) {
        const auto next = static_cast<unsigned char>(text[at + 1]);
        if (text[at] == '\xC2' && next >= 0x80 && next <= 0x9F) return at;
    }
    return std::string_view::npos;
}

std::string with_c1_escaped(std::string text) {
    for (std::size_t at = find_c1(text); at != std::string::npos; at = find_c1(text)) {
        const char high = text[at + 1] < '\x90' ? '8' : '9';
        const char low = "0123456789abcdef"[static_cast<unsigned char>(text[at + 1]) & 0x0FU];
        text.replace(at, 2, std::string("\\u00") + high + low);
    }
    return text;
}

}  // namespace

std::string shown(std::string_view text) {
    const bool is_plain = !text.empty() && find_c1(text) == std::string_view::npos &&
                          std::none_of(text.begin(), text.end(), [](char c) {
                              return (c >= 0 && c <= ' ') || c == 0x7f || c == '"' || c == '\\';
                          });
    return is_plain ? std::string(text) : with_c1_escaped(config::quoted(text));
}

std::string json_string(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

namespace {

const char* url_variable(Listener listener) {
    return listener == Listener::kMain ? "SLUICE_URL" : "SLUICE_ADMIN_URL";
}

}  // namespace

void add_target_options(CLI::App& command, ClientOptions& options) {
    const bool is_main = options.listener == Listener::kMain;
    if (!is_main) options.url = "http://127.0.0.1:9090";
    command
        .add_option("--url",
                    options.url,
                    std::string(is_main ? "The server" : "The server's admin listener") +
                        " (also: " + url_variable(options.listener) + ")")
        ->capture_default_str();
    command.add_option("--token", options.target.token, "The token to send (also: SLUICE_TOKEN)");
    command
        .add_option("--ca-cert",
                    options.target.ca_cert,
                    "PEM file of trusted authorities, for https (also: SLUICE_CA_CERT)")
        ->type_name("FILE");
    CLI::Option* const cert =
        command.add_option("--client-cert",
                           options.target.client_cert,
                           "PEM file of the certificate to present (also: SLUICE_CLIENT_CERT)");
    cert->type_name("FILE");
    CLI::Option* const key =
        command.add_option("--client-key",
                           options.target.client_key,
                           "PEM file of its private key (also: SLUICE_CLIENT_KEY)");
    key->type_name("FILE")->needs(cert);
    cert->needs(key);
    command.add_flag("--insecure",
                     options.target.insecure,
                     "Accept any certificate (also: SLUICE_INSECURE=true)");
    command.add_flag("--json", options.json, "Print JSON");
}

void add_timeout_option(CLI::App& command, ClientOptions& options) {
    command.add_option("--timeout", options.timeout, "How long to wait for the response")
        ->type_name("TIME")
        ->capture_default_str();
}

void add_duration_option(CLI::App& command, ClientOptions& options) {
    command
        .add_option(
            "--duration", options.duration, "Length of the window, at least 1s: 10s, 5m, 1h, 30d")
        ->type_name("TIME")
        ->required();
}

void add_key_options(CLI::App& command, std::string& name_space, std::string& identifier) {
    command.add_option("NAMESPACE", name_space, kNamespaceHelp)->required();
    command
        .add_option("IDENTIFIER", identifier, "The user or thing that is counted, such as alice")
        ->required();
}

namespace {

// What the environment says of TLS, where the options say nothing.
std::optional<Error> add_tls_variables(Target& target, const Environment& environment) {
    const bool has_ca_option = !target.ca_cert.empty();
    if (!has_ca_option) target.ca_cert = variable(environment, "SLUICE_CA_CERT");
    if (target.client_cert.empty()) {
        target.client_cert = variable(environment, "SLUICE_CLIENT_CERT");
        target.client_key = variable(environment, "SLUICE_CLIENT_KEY");
    }
    if (target.client_cert.empty() != target.client_key.empty())
        return Error{kInvalidOption, "SLUICE_CLIENT_CERT and SLUICE_CLIENT_KEY need each other"};
    const std::string insecure = variable(environment, "SLUICE_INSECURE");
    if (!insecure.empty() && insecure != "true" && insecure != "false")
        return Error{
            kInvalidOption,
            "SLUICE_INSECURE is " + config::quoted(insecure) + "; allowed are true and false"};
    if (!has_ca_option && insecure == "true") target.insecure = true;
    return std::nullopt;
}

}  // namespace

Result<Target> resolve_target(const CLI::App& command,
                              const ClientOptions& options,
                              const Environment& environment) {
    warn_of_variables(command, environment);
    Target target = options.target;
    const std::string url = variable(environment, url_variable(options.listener));
    auto parsed = parse_url(command.count("--url") == 0 && !url.empty() ? url : options.url);
    if (!parsed) return std::move(parsed.error());
    target.url = *std::move(parsed);
    if (auto failed = add_tls_variables(target, environment)) return *std::move(failed);
    if (target.token.empty()) target.token = variable(environment, "SLUICE_TOKEN");
    if (!target.token.empty() && !config::is_valid_secret(target.token)) {
        return Error{
            kInvalidOption,
            "--token is a value that is not shown; allowed is 1 to 512 visible ASCII characters"};
    }
    return target;
}

Result<ClientCall> resolve_call(const CLI::App& command,
                                const ClientOptions& options,
                                const Environment& environment) {
    auto target = resolve_target(command, options, environment);
    if (!target) return std::move(target).error();
    const auto timeout = duration_of("--timeout", options.timeout);
    if (!timeout) return timeout.error();
    return ClientCall{
        .target = *std::move(target), .timeout = *timeout, .output = options.output()};
}

Result<std::chrono::milliseconds> window_duration(const ClientOptions& options) {
    return duration_of("--duration", options.duration, kShortestWindow);
}

}  // namespace sluice::cli
