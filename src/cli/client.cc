#include "cli/client.h"

#include <utility>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <openssl/ssl.h>
#include <simdjson.h>

#include "base/json_text.h"
#include "base/tls_host.h"
#include "cli/commands.h"
#include "config/token.h"

namespace sluice::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using Request = beast::http::request<beast::http::string_body>;
using Response = beast::http::response<beast::http::string_body>;

// The shortest window that a server accepts.
constexpr std::chrono::milliseconds kShortestWindow{1000};

// One request and its response. Each step runs the loop until it is done or the deadline passes.
class Exchange {
  public:
    explicit Exchange(const ClientCall& call)
        : target_(call.target),
          deadline_(std::chrono::steady_clock::now() + call.timeout),
          tls_(client_tls_context(call.target)),
          stream_(loop_, tls_) {}

    Result<HttpResponse> run(Request& request) {
        Response response;
        const char* step = "can't connect";
        error_code failed = connect();
        if (!failed && target_.url.tls) {
            step = "TLS failed";
            failed = shake_hands();
        }
        if (!failed) {
            step = "no response";
            failed = target_.url.tls ? exchange(stream_, request, response)
                                     : exchange(tcp(), request, response);
        }
        if (failed) {
            return Error{kInvalidOption,
                         target_.url.authority() + ": " + step + ": " + describe(failed)};
        }
        return HttpResponse{.status = static_cast<int>(response.result_int()),
                            .body = std::move(response.body())};
    }

  private:
    beast::tcp_stream& tcp() { return beast::get_lowest_layer(stream_); }

    static std::string describe(error_code failed) {
        if (failed == beast::error::timeout) return "timed out";
        return failed.message();
    }

    // Runs the operation that `start` begins and returns its outcome.
    template <class Start>
    error_code wait(Start start) {
        error_code outcome;
        tcp().expires_at(deadline_);
        start([&](error_code error, auto&&...) { outcome = error; });
        loop_.restart();
        loop_.run();
        return outcome;
    }

    error_code connect() {
        error_code failed;
        asio::ip::tcp::resolver resolver(loop_);
        const auto addresses = resolver.resolve(target_.url.host, target_.url.port, failed);
        if (failed) return failed;
        return wait([&](auto done) { tcp().async_connect(addresses, done); });
    }

    error_code shake_hands() {
        expect_host(stream_.native_handle(), target_.url.host);
        return wait(
            [&](auto done) { stream_.async_handshake(asio::ssl::stream_base::client, done); });
    }

    template <class Stream>
    error_code exchange(Stream& stream, Request& request, Response& response) {
        const error_code failed =
            wait([&](auto done) { beast::http::async_write(stream, request, done); });
        if (failed) return failed;
        beast::flat_buffer buffer;
        return wait([&](auto done) { beast::http::async_read(stream, buffer, response, done); });
    }

    const Target& target_;
    const std::chrono::steady_clock::time_point deadline_;
    asio::io_context loop_;
    asio::ssl::context tls_;
    beast::ssl_stream<beast::tcp_stream> stream_;
};

Request request_to(const Target& target, beast::http::verb verb, const std::string& path) {
    Request request(verb, target.url.prefix + path, 11);
    request.set(beast::http::field::host, target.url.authority());
    request.set(beast::http::field::accept, "application/json");
    request.set(beast::http::field::connection, "close");
    return request;
}

Result<HttpResponse> send(const ClientCall& call, Request& request) {
    request.prepare_payload();
    try {
        return Exchange(call).run(request);
    } catch (const boost::system::system_error& error) {
        return Error{kInvalidOption, call.target.url.authority() + ": " + error.code().message()};
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

Result<HttpResponse> post_json(const ClientCall& call,
                               const std::string& path,
                               const std::string& body) {
    Request post = request_to(call.target, beast::http::verb::post, path);
    post.set(beast::http::field::content_type, "application/json");
    if (!call.target.token.empty())
        post.set(beast::http::field::authorization, "Bearer " + call.target.token);
    post.body() = body;
    return send(call, post);
}

Result<HttpResponse> get_page(const ClientCall& call, const std::string& path) {
    Request get = request_to(call.target, beast::http::verb::get, path);
    return send(call, get);
}

std::string unexpected_response(const HttpResponse& response) {
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

std::string json_string(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

void add_target_options(CLI::App& command, ClientOptions& options) {
    command.add_option("--url", options.url, "The server (also: SLUICE_URL)")
        ->capture_default_str();
    command.add_option("--token", options.target.token, "The token to send (also: SLUICE_TOKEN)");
    command
        .add_option(
            "--ca-cert", options.target.ca_cert, "PEM file of trusted authorities, for https")
        ->type_name("FILE");
    CLI::Option* const cert = command.add_option(
        "--client-cert", options.target.client_cert, "PEM file of the certificate to present");
    cert->type_name("FILE");
    CLI::Option* const key = command.add_option(
        "--client-key", options.target.client_key, "PEM file of its private key");
    key->type_name("FILE")->needs(cert);
    cert->needs(key);
    command.add_flag("--insecure", options.target.insecure, "Accept any certificate");
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

Result<Target> resolve_target(const CLI::App& command,
                              const ClientOptions& options,
                              const Environment& environment) {
    warn_of_variables(command, environment);
    Target target = options.target;
    const std::string url = variable(environment, "SLUICE_URL");
    auto parsed = parse_url(command.count("--url") == 0 && !url.empty() ? url : options.url);
    if (!parsed) return std::move(parsed.error());
    target.url = *std::move(parsed);
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
