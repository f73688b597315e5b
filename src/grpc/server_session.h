// The server's side of an HTTP/2 connection that carries gRPC calls, without a socket.
#ifndef SLUICE_GRPC_SERVER_SESSION_H_
#define SLUICE_GRPC_SERVER_SESSION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "grpc/frame_budget.h"
#include "grpc/method.h"
#include "grpc/server_call.h"
#include "grpc/stream_history.h"
#include "http/wire/limits.h"
#include "http/wire/turn.h"

namespace sluice::grpc {

// Limits on what one connection may use.
struct SessionLimits {
    std::uint32_t streams = 1'000;             // concurrent calls; further ones are refused
    std::size_t message = 1024UL * 1024;       // RESOURCE_EXHAUSTED above
    std::size_t header_list = 16UL * 1024;     // names, values and 32 bytes per field
    std::size_t stream_unsent = 256UL * 1024;  // unread messages of one streaming call
    // PING, SETTINGS, WINDOW_UPDATE, PRIORITY and empty frames. The connection is closed above.
    FrameBudget::Rate control_frames{.burst = 1'000, .per_second = 100};
    // Calls that the client resets before they are answered.
    FrameBudget::Rate resets{.burst = 1'000, .per_second = 100};
};

// Counters of one thread. Aligned, so that the counters of two threads don't share a cache line.
struct alignas(64) SessionCounters {
    http::WireCounter calls;      // handed to a handler
    http::WireCounter refused;    // answered without a handler
    http::WireCounter cancelled;  // reset by the client before the answer
    http::WireCounter expired;    // answered with DEADLINE_EXCEEDED
    http::WireCounter floods;     // connections closed with ENHANCE_YOUR_CALM
};

// What the sessions of one thread share. Owned by one thread, except that counters may be read by
// any.
struct SessionContext {
    const MethodRegistry& methods;
    SessionLimits limits{};
    // Runs a function on the sessions' thread, soon. May be called by any thread. Completions hold
    // it, so it may be called after the last session has ended.
    std::shared_ptr<const std::function<void(std::function<void()>)>> post{};
    // A handler has thrown.
    std::function<void(std::string_view path, std::string_view what)> on_failure{};
    SessionCounters counters{};
    std::vector<std::unique_ptr<ServerCall>> spare_calls{};
};

// Bytes from the client go in and make calls; bytes for the client come out. Limits and floods are
// checked here. It has no clock: the owner passes the time, and calls expire() at the deadlines of
// calls.
//
// Owned by one thread.
class ServerSession {
  public:
    using Time = std::chrono::steady_clock::time_point;

    // Frames and calls are charged to `turn`, which must outlive the session. `wake` is called when
    // a deferred answer or a streamed message can be sent. Throws std::bad_alloc.
    ServerSession(SessionContext& context,
                  std::string_view peer,
                  http::Turn& turn,
                  std::function<void()> wake);
    // Cancels all calls.
    ~ServerSession();
    ServerSession(const ServerSession&) = delete;
    ServerSession& operator=(const ServerSession&) = delete;

    // Handles bytes from the client. False: the connection is broken; send() what is left and
    // close.
    bool receive(std::string_view bytes, Time now);

    // Appends bytes for the client to `out`, until there are none, `out` has `enough` bytes, or the
    // turn is over. False: the connection is broken.
    bool send(std::string& out, std::size_t enough);
    // True if send() has bytes, unless the client's windows are closed.
    bool has_output() const;

    // The earliest deadline of a call that waits for its answer or its request.
    std::optional<Time> next_deadline() const;
    // Answers calls whose deadline has passed with DEADLINE_EXCEEDED. What their handlers answer
    // later has no effect.
    void expire(Time now);
    // Answers requests that have been incomplete since `since` or before with DEADLINE_EXCEEDED,
    // and charges the client for each as for a reset. False: there were too many, or the header
    // fields of one are incomplete, which blocks the connection; send() what is left and close.
    bool end_overdue(Time since, Time now);

    // Nothing more will be received or sent.
    bool is_finished() const;

    // Announces that the session will end; calls are still accepted. The client acknowledges with a
    // PING, after which has_drain_ack() is true.
    void announce_drain();
    bool has_drain_ack() const { return has_drain_ack_; }
    // Refuses further calls; the session is finished when those in progress have ended.
    void drain();

    std::size_t calls() const { return calls_.size(); }
    std::size_t deferred_calls() const { return deferred_; }
    // True if an answer is complete but the client has not taken all of it.
    bool has_unsent_answers() const { return unsent_answers_ > 0; }
    // Since when the oldest incomplete request, or message of a stream, is awaited. None: none is.
    std::optional<Time> awaited_since() const;
    // True once a call has begun.
    bool has_had_calls() const { return !calls_.empty() || ended_calls_ > 0; }
    // Calls that have ended.
    std::uint64_t ended_calls() const { return ended_calls_; }
    // Memory of requests and answers.
    std::size_t held_bytes() const { return held_bytes_; }

  private:
    friend class ServerCall;
    template <class Session>
    friend class SessionCallbacks;
    struct Callbacks;

    using Deadlines = std::multimap<Time, ServerCall*>;

    void open_call(std::int32_t stream);
    void close_call(ServerCall* call, std::uint32_t error);
    ServerCall* find(std::int32_t stream) const;
    Completion completion_for(std::int32_t stream);
    void complete(std::int32_t stream, Answer answer);
    void wake() const;
    void charge(const nghttp2_frame_hd& frame);
    void check_stream(const nghttp2_frame_hd& frame);
    void on_field(std::int32_t stream, std::string_view name, std::string_view value);
    void on_data(std::int32_t stream, std::string_view bytes);
    void on_frame(const nghttp2_frame& frame);
    void on_close(std::int32_t stream, std::uint32_t error);
    void on_frame_sent(const nghttp2_frame& frame);
    void spend(FrameBudget& budget);
    void end_flood();
    void end(std::uint32_t error);
    const MethodRegistry::Entry* find_method(std::string_view path);
    void watch_deadlines();

    SessionContext& context_;
    const std::string peer_;
    http::Turn& turn_;
    const std::function<void()> wake_;
    nghttp2_session* http2_ = nullptr;
    std::vector<ServerCall*> calls_;
    Time now_{};
    Deadlines deadlines_;              // of calls that were not answered where they were read
    std::vector<std::int32_t> timed_;  // streams with a deadline, of this receive()
    FrameBudget control_frames_;
    FrameBudget resets_;
    StreamHistory history_;
    const MethodRegistry::Entry* last_method_ = nullptr;
    std::size_t deferred_ = 0;
    std::size_t unsent_answers_ = 0;
    ServerCall* first_awaited_ = nullptr;  // a list, the oldest first
    ServerCall* last_awaited_ = nullptr;
    std::uint64_t ended_calls_ = 0;
    std::size_t held_bytes_ = 0;
    bool is_ended_ = false;  // the client has broken a rule
    bool is_receiving_ = false;
    bool has_drain_ack_ = false;
    // For completions: expires with the session. Made when first needed.
    std::shared_ptr<ServerSession*> self_;
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_SERVER_SESSION_H_
