// For tests: the client's side of an HTTP/2 connection, in memory.
#ifndef SLUICE_GRPC_TEST_PEER_H_
#define SLUICE_GRPC_TEST_PEER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "http/wire/turn.h"

namespace sluice::grpc {

class ServerSession;

using TestFields = std::vector<std::pair<std::string, std::string>>;

struct TestRequest {
    std::string path = "/test.Echo/Say";
    std::string body{};   // with prefixes
    TestFields fields{};  // besides the usual ones
    std::string method = "POST";
    std::string content_type = "application/grpc";
    bool ends = true;  // the request is complete
};

struct TestResponse {
    std::map<std::string, std::string> fields;  // of head and trailers
    std::string body;
    bool is_closed = false;
    std::uint32_t error = 0;  // with which the stream was closed

    std::string status() const {
        const auto found = fields.find("grpc-status");
        return found == fields.end() ? "" : found->second;
    }
    std::string message() const;
};

class TestPeer {
  public:
    // `window`: the size of each stream's flow-control window.
    explicit TestPeer(std::uint32_t window = 65'535);
    ~TestPeer();
    TestPeer(const TestPeer&) = delete;
    TestPeer& operator=(const TestPeer&) = delete;

    // Starts a request and returns its stream.
    std::int32_t start(const TestRequest& request);
    // Sends more of the body of a request that was started with ends = false.
    void send_more(std::int32_t stream, std::string_view bytes, bool ends);
    void reset(std::int32_t stream, std::uint32_t error = NGHTTP2_CANCEL);
    void ping();
    void open_window(std::int32_t stream, std::int32_t bytes);

    // The bytes to send.
    std::string take_output();
    // Takes bytes from the server. False if they are malformed.
    bool receive(std::string_view bytes);

    // Exchanges bytes with `server` until both are quiet. False if the server's session ended.
    bool exchange(ServerSession& server);
    // A whole call.
    TestResponse call(ServerSession& server, const TestRequest& request);

    const TestResponse& response(std::int32_t stream) { return responses_[stream]; }
    // The error of the last GOAWAY, and the last stream that it names.
    std::optional<std::uint32_t> goaway_error;
    std::int32_t goaway_last = 0;

  private:
    struct Body {
        std::string bytes;
        bool ends = false;
    };
    struct Callbacks;

    nghttp2_session* http2_ = nullptr;
    std::map<std::int32_t, TestResponse> responses_;
    std::map<std::int32_t, Body> bodies_;
};

// A turn that is never over.
http::Turn endless_turn();

// "message" with its prefix.
std::string framed(std::string_view message);
// The messages of a response's body.
std::vector<std::string> messages_of(std::string_view body);

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_TEST_PEER_H_
