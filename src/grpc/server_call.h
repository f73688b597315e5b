// One call of a server session: an HTTP/2 stream.
#ifndef SLUICE_GRPC_SERVER_CALL_H_
#define SLUICE_GRPC_SERVER_CALL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nghttp2/nghttp2.h>

#include "grpc/message_reader.h"
#include "grpc/method.h"

namespace sluice::grpc {

class ServerSession;

// Header fields and messages of the request go in; the answer is submitted to the nghttp2 session.
// Objects are reused, so that a small call allocates nothing in the steady state.
//
// Owned by its session.
class ServerCall final : public UnaryCall, public StreamWriter {
  public:
    // Starts over for a new stream.
    void begin(ServerSession& session, std::int32_t stream);
    // Ends the stream handler and frees large buffers.
    void end();

    // A field of the request's head, or a trailer. False: the fields are larger than any limit.
    bool on_field(std::string_view name, std::string_view value);
    // The head is complete: refuses what can't be served.
    void on_head();
    void on_data(std::string_view bytes);
    // The client has sent everything.
    void on_end();
    // Its handler has thrown: answers INTERNAL.
    void fail(std::string_view what);

    // Enters the deadline of a call that has one.
    using Deadlines = std::multimap<std::chrono::steady_clock::time_point, ServerCall*>;
    void watch_deadline(Deadlines& deadlines);
    // Its deadline has passed: answers DEADLINE_EXCEEDED, and leaves the deadlines.
    void expire();
    // More of its request was awaited for too long: answers DEADLINE_EXCEEDED.
    void end_overdue();

    // Answers a deferred call.
    void complete(Answer answer);
    bool is_deferred() const { return is_deferred_; }

    Completion defer() override;
    void send(std::string_view message) override;
    void finish(Status status) override;

    std::int32_t stream() const { return stream_; }

  private:
    friend class ServerSession;

    void read_messages(std::string_view bytes);
    void dispatch();
    void refuse(Code code, std::string message, std::string_view http_status = "200");
    void submit_answer();
    void submit_trailers_only(const Status& status, std::string_view http_status);
    void submit_head();
    void submit_trailers();
    ssize_t produce_unary(char* to, std::size_t size, std::uint32_t& flags);
    ssize_t produce_stream(char* to, std::size_t size, std::uint32_t& flags);
    void end_body(std::uint32_t& flags);
    void account();
    void forget_deadline();
    void set_awaited(bool value);
    void drop_deferral();
    static void set_flag(bool& flag, bool value, std::size_t& count);

    static ssize_t on_read(nghttp2_session* session,
                           std::int32_t stream,
                           std::uint8_t* to,
                           std::size_t size,
                           std::uint32_t* flags,
                           nghttp2_data_source* source,
                           void* owner);

    ServerSession* session_ = nullptr;
    std::int32_t stream_ = 0;
    std::size_t index_ = 0;  // in the session's list of calls
    const MethodRegistry::Entry* method_ = nullptr;
    std::unique_ptr<StreamHandler> handler_;  // of a streaming call
    MessageReader reader_;
    std::size_t messages_ = 0;
    std::size_t header_bytes_ = 0;
    std::size_t accounted_ = 0;  // bytes in the session's sum
    std::size_t sent_ = 0;       // of a unary answer with its prefix, or of outbox_
    std::string outbox_;         // messages of a streaming call
    std::string traceparent_;
    Status refusal_;                  // found in the head
    Deadlines* deadlines_ = nullptr;  // that have this call's; null: none
    Deadlines::iterator deadline_;
    // Its place among the session's awaited requests, while is_awaited_.
    std::chrono::steady_clock::time_point awaited_since_;
    ServerCall* awaited_before_ = nullptr;
    ServerCall* awaited_after_ = nullptr;
    bool is_post_ = false;
    bool has_content_type_ = false;
    bool is_head_complete_ = false;
    bool is_request_complete_ = false;
    bool is_reset_ = false;  // by the client
    bool is_deferred_ = false;
    bool is_answered_ = false;   // nothing more is expected from the handler
    bool is_submitted_ = false;  // the head of the response was
    bool is_awaited_ = false;    // more of the request must come: its end, or that of a message
    bool is_overdue_ = false;    // it did not come in time
    bool is_unsent_ = false;     // the client has not taken all of the answer
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_SERVER_CALL_H_
