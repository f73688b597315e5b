// Options and the HTTP request that all client commands share.
#ifndef SLUICE_CLI_CLIENT_H_
#define SLUICE_CLI_CLIENT_H_

#include <sluice/result.h>

#include <chrono>
#include <string>
#include <string_view>

#include <boost/asio/ssl/context.hpp>

#include "cli/program.h"
#include "cli/url.h"
#include "http/client/fetch.h"

namespace CLI {
class App;
}

namespace sluice::cli {

enum class Output { kText, kJson };

// The server to call, and the credentials for it.
struct Target {
    Url url;
    std::string token;      // empty: none is sent
    std::string ca_cert;    // PEM file of trusted authorities; empty: those of the system
    bool insecure = false;  // accept any certificate
    // PEM files of the certificate to present, and of its key; empty: none.
    std::string client_cert{};
    std::string client_key{};
};

// Where the request of a command goes, and how its response is printed.
struct ClientCall {
    Target target;
    std::chrono::milliseconds timeout{5'000};  // for each request
    Output output = Output::kText;
};

// Posts JSON and waits for the response. The error has the address and what failed.
Result<http::FetchResponse> post_json(const ClientCall& call,
                                      const std::string& path,
                                      const std::string& body);

// The same for a GET.
Result<http::FetchResponse> get_json(const ClientCall& call, const std::string& path);

// Gets a page without presenting the token.
Result<http::FetchResponse> get_page(const ClientCall& call, const std::string& path);

// The message for a response that is not the expected one, with the server's own explanation if it
// gives one: "the server answered 400: ...".
std::string unexpected_response(const http::FetchResponse& response);

// Throws boost::system::system_error if a file of the target can't be read.
boost::asio::ssl::context client_tls_context(const Target& target);

std::string json_string(std::string_view text);

// Text without control characters, which could change the state of a terminal.
std::string shown(std::string_view text);

// The listener that a command calls.
enum class Listener { kMain, kAdmin };

// The options that all client commands share, as they are written.
struct ClientOptions {
    Listener listener = Listener::kMain;
    Target target = {};
    std::string url = "http://127.0.0.1:8080";
    std::string timeout = "5s";
    std::string duration = {};
    bool json = false;

    Output output() const { return json ? Output::kJson : Output::kText; }
};

inline constexpr const char* kNamespaceHelp = "The namespace of the limit, such as login";

void add_target_options(CLI::App& command, ClientOptions& options);
void add_timeout_option(CLI::App& command, ClientOptions& options);
void add_duration_option(CLI::App& command, ClientOptions& options);
void add_key_options(CLI::App& command, std::string& name_space, std::string& identifier);

// The target from the options and the environment; warns of unknown variables.
Result<Target> resolve_target(const CLI::App& command,
                              const ClientOptions& options,
                              const Environment& environment);

// The same with the timeout and the output.
Result<ClientCall> resolve_call(const CLI::App& command,
                                const ClientOptions& options,
                                const Environment& environment);

// The length of the window.
Result<std::chrono::milliseconds> window_duration(const ClientOptions& options);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_CLIENT_H_
