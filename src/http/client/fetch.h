// A client for single HTTP/1.1 requests, over TCP or TLS.
#ifndef SLUICE_HTTP_CLIENT_FETCH_H_
#define SLUICE_HTTP_CLIENT_FETCH_H_

#include <sluice/result.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/ssl/context.hpp>

namespace sluice::http {

// Nothing in it may contain a line break but the body.
struct FetchRequest {
    std::string host;       // a name or an address; IPv6 without brackets
    std::string port;       // a number
    std::string authority;  // for the Host header, and for errors
    std::string method = "GET";
    std::string path;  // begins with a slash
    std::vector<std::pair<std::string, std::string>> headers{};
    std::string body{};
};

struct FetchResponse {
    int status = 0;
    std::string body;
};

inline constexpr std::size_t kLongestResponse = 16UL * 1024 * 1024;

// Sends `request` on a connection of its own and waits for the response, for up to `timeout` in
// all, name lookup aside. Uses TLS if there is a context. An error names the authority and the step
// that failed; a response with any status is none.
Result<FetchResponse> fetch(const FetchRequest& request,
                            std::chrono::milliseconds timeout,
                            boost::asio::ssl::context* tls = nullptr,
                            std::size_t max_body = kLongestResponse);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_CLIENT_FETCH_H_
