#include "grpc/server_session.h"

#include <array>
#include <exception>
#include <new>
#include <utility>

#include "base/check.h"
#include "grpc/session_callbacks.h"

namespace sluice::grpc {

namespace {

// Calls kept for reuse.
constexpr std::size_t kSpareCalls = 256;

// Control frames that a client may send for each answered call: window updates, and pings that
// measure the bandwidth.
constexpr std::int64_t kControlFramesPerCall = 4;

// Bytes that the client may send on the connection before an update of its window.
constexpr std::int32_t kConnectionWindow = 1024 * 1024;

// Lists of this many elements are kept when they are empty.
constexpr std::size_t kListKept = 1024;

// The content of the PING that follows the announcement of a drain.
constexpr std::array<std::uint8_t, 8> kDrainPing{'d', 'r', 'a', 'i', 'n', 'i', 'n', 'g'};

bool ends_stream(const nghttp2_frame& frame) {
    return (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
}

// Runs the code of a call; an exception of its handler becomes an answer.
template <class Act>
void run_call(ServerCall& call, Act act) {
    try {
        act();
    } catch (const std::exception& error) {
        call.fail(error.what());
    }
}

}  // namespace

// Those that a server needs besides.
struct ServerSession::Callbacks : SessionCallbacks<ServerSession> {
    static int on_begin_headers(nghttp2_session* /*http2*/,
                                const nghttp2_frame* frame,
                                void* owner) {
        if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
        return run(owner, [&](ServerSession& session) { session.open_call(frame->hd.stream_id); });
    }

    static int on_begin_frame(nghttp2_session* /*http2*/,
                              const nghttp2_frame_hd* frame,
                              void* owner) {
        return run(owner, [&](ServerSession& session) {
            session.check_stream(*frame);
            session.charge(*frame);
        });
    }

    static int on_frame_send(nghttp2_session* /*http2*/, const nghttp2_frame* frame, void* owner) {
        return run(owner, [&](ServerSession& session) { session.on_frame_sent(*frame); });
    }

    static const nghttp2_session_callbacks* get() {
        static const nghttp2_session_callbacks* const callbacks = create_all();
        return callbacks;
    }

    static const nghttp2_session_callbacks* create_all() {
        nghttp2_session_callbacks* const callbacks = create();
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
        nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
        return callbacks;
    }

    static const nghttp2_option* options() {
        static const nghttp2_option* const made = create_options();
        return made;
    }

    static const nghttp2_option* create_options() {
        nghttp2_option* made = nullptr;
        if (nghttp2_option_new(&made) != 0) throw std::bad_alloc();
        // Closed streams would be kept for the tree of priorities.
        nghttp2_option_set_no_closed_streams(made, 1);
        // `resets_` bounds resets, in proportion to answered calls.
        nghttp2_option_set_stream_reset_rate_limit(made, UINT64_MAX, 0);
        return made;
    }
};

ServerSession::ServerSession(SessionContext& context,
                             std::string_view peer,
                             http::Turn& turn,
                             std::function<void()> wake)
    : context_(context),
      peer_(peer),
      turn_(turn),
      wake_(std::move(wake)),
      control_frames_(context.limits.control_frames),
      resets_(context.limits.resets) {
    if (nghttp2_session_server_new2(&http2_, Callbacks::get(), this, Callbacks::options()) != 0)
        throw std::bad_alloc();
    const std::array settings{
        nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, context.limits.streams},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
                               static_cast<std::uint32_t>(context.limits.header_list)},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};
    const bool is_ready =
        nghttp2_submit_settings(http2_, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) == 0 &&
        nghttp2_session_set_local_window_size(http2_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow) == 0;
    if (is_ready) return;
    nghttp2_session_del(http2_);
    throw std::bad_alloc();
}

ServerSession::~ServerSession() {
    while (!calls_.empty())
        close_call(calls_.back(), NGHTTP2_CANCEL);
    nghttp2_session_del(http2_);
}

bool ServerSession::receive(std::string_view bytes, Time now) {
    now_ = now;
    control_frames_.refill(now);
    resets_.refill(now);
    is_receiving_ = true;
    const ssize_t used = nghttp2_session_mem_recv(
        http2_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    watch_deadlines();
    is_receiving_ = false;
    if (used == NGHTTP2_ERR_FLOODED) end_flood();
    return used >= 0 && !is_ended_;
}

// Most calls are answered at once: only the others are kept track of.
void ServerSession::watch_deadlines() {
    for (const std::int32_t stream : timed_) {
        ServerCall* call = find(stream);
        if (call != nullptr && !call->is_answered_) call->watch_deadline(deadlines_);
    }
    timed_.clear();
    if (timed_.capacity() > kListKept) timed_ = {};
}

std::optional<ServerSession::Time> ServerSession::next_deadline() const {
    if (deadlines_.empty()) return std::nullopt;
    return deadlines_.begin()->first;
}

std::optional<ServerSession::Time> ServerSession::awaited_since() const {
    if (first_awaited_ == nullptr) return std::nullopt;
    return first_awaited_->awaited_since_;
}

void ServerSession::expire(Time now) {
    while (!deadlines_.empty() && deadlines_.begin()->first <= now)
        deadlines_.begin()->second->expire();
}

bool ServerSession::end_overdue(Time since, Time now) {
    resets_.refill(now);
    while (!is_ended_ && first_awaited_ != nullptr && first_awaited_->awaited_since_ <= since) {
        // The client can send no other frame before the rest of the fields.
        if (!first_awaited_->is_head_complete_) {
            end(NGHTTP2_ENHANCE_YOUR_CALM);
            break;
        }
        spend(resets_);
        if (!is_ended_) first_awaited_->end_overdue();
    }
    return !is_ended_;
}

bool ServerSession::send(std::string& out, std::size_t enough) {
    while (out.size() < enough && turn_.may_continue()) {
        const std::uint8_t* bytes = nullptr;
        const ssize_t size = nghttp2_session_mem_send(http2_, &bytes);
        if (size < 0) return false;
        if (size == 0) return true;
        out += text_of(bytes, static_cast<std::size_t>(size));
    }
    return true;
}

bool ServerSession::has_output() const {
    return nghttp2_session_want_write(http2_) != 0;
}

bool ServerSession::is_finished() const {
    return nghttp2_session_want_read(http2_) == 0 && nghttp2_session_want_write(http2_) == 0;
}

void ServerSession::announce_drain() {
    nghttp2_submit_shutdown_notice(http2_);
    nghttp2_submit_ping(http2_, NGHTTP2_FLAG_NONE, kDrainPing.data());
}

void ServerSession::drain() {
    const std::int32_t last = nghttp2_session_get_last_proc_stream_id(http2_);
    nghttp2_submit_goaway(http2_, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0);
}

void ServerSession::open_call(std::int32_t stream) {
    std::unique_ptr<ServerCall> call;
    if (context_.spare_calls.empty()) {
        call = std::make_unique<ServerCall>();
    } else {
        call = std::move(context_.spare_calls.back());
        context_.spare_calls.pop_back();
    }
    history_.on_open();
    call->index_ = calls_.size();
    calls_.push_back(call.get());
    call->begin(*this, stream);
    nghttp2_session_set_stream_user_data(http2_, stream, call.release());
}

void ServerSession::close_call(ServerCall* call, std::uint32_t error) {
    std::unique_ptr<ServerCall> owner(call);
    nghttp2_session_set_stream_user_data(http2_, call->stream(), nullptr);
    calls_.back()->index_ = call->index_;
    calls_[call->index_] = calls_.back();
    calls_.pop_back();
    if (calls_.empty() && calls_.capacity() > kListKept) calls_ = {};
    ++ended_calls_;
    if (!call->is_request_complete_ && !call->is_reset_) history_.on_server_end(call->stream());
    // A client may reset with NO_ERROR, too.
    const bool is_answered = error == NGHTTP2_NO_ERROR && !call->is_reset_;
    if (!is_answered) {
        context_.counters.cancelled.add(1);
    } else if (!call->is_overdue_) {
        control_frames_.add(kControlFramesPerCall);
        resets_.add(1);
    }
    call->end();
    if (context_.spare_calls.size() < kSpareCalls) context_.spare_calls.push_back(std::move(owner));
}

ServerCall* ServerSession::find(std::int32_t stream) const {
    return static_cast<ServerCall*>(nghttp2_session_get_stream_user_data(http2_, stream));
}

const MethodRegistry::Entry* ServerSession::find_method(std::string_view path) {
    // Most clients call one method.
    if (last_method_ == nullptr || last_method_->first != path) {
        const MethodRegistry::Entry* found = context_.methods.find(path);
        if (found == nullptr) return nullptr;
        last_method_ = found;
    }
    return last_method_;
}

// nghttp2 ignores what this finds: it keeps no closed streams, nor priorities. DATA of a closed
// stream it drops before a callback sees it.
void ServerSession::check_stream(const nghttp2_frame_hd& frame) {
    if (frame.type == NGHTTP2_PRIORITY && frame.stream_id == 0) return end(NGHTTP2_PROTOCOL_ERROR);
    if (frame.type == NGHTTP2_RST_STREAM) {
        if (ServerCall* call = find(frame.stream_id)) call->is_reset_ = true;
        return;
    }
    if (frame.type != NGHTTP2_HEADERS) return;
    if (find(frame.stream_id) == nullptr && history_.on_headers(frame.stream_id))
        end(NGHTTP2_STREAM_CLOSED);
}

// Charges the client for a frame that brings no call forward. Frames of unknown types are skipped
// by nghttp2 before they get here.
void ServerSession::charge(const nghttp2_frame_hd& frame) {
    turn_.spend_record();
    const bool is_acknowledgement = (frame.flags & NGHTTP2_FLAG_ACK) != 0;
    const bool ends = (frame.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (frame.type) {
        case NGHTTP2_HEADERS:
        case NGHTTP2_CONTINUATION:
            return;
        case NGHTTP2_DATA:
            if (frame.length == 0 && !ends) spend(control_frames_);
            return;
        case NGHTTP2_RST_STREAM:
            return spend(find(frame.stream_id) == nullptr ? control_frames_ : resets_);
        case NGHTTP2_PING:
        case NGHTTP2_SETTINGS:
            if (!is_acknowledgement) spend(control_frames_);
            return;
        default:
            spend(control_frames_);
    }
}

void ServerSession::on_field(std::int32_t stream, std::string_view name, std::string_view value) {
    ServerCall* call = find(stream);
    if (call != nullptr && !call->on_field(name, value)) end_flood();
}

void ServerSession::on_data(std::int32_t stream, std::string_view bytes) {
    ServerCall* call = find(stream);
    if (call != nullptr) run_call(*call, [&] { call->on_data(bytes); });
}

void ServerSession::on_close(std::int32_t stream, std::uint32_t error) {
    ServerCall* call = find(stream);
    if (call != nullptr) close_call(call, error);
}

void ServerSession::on_frame(const nghttp2_frame& frame) {
    if (frame.hd.type == NGHTTP2_PING && (frame.hd.flags & NGHTTP2_FLAG_ACK) != 0) {
        has_drain_ack_ |= text_of(frame.ping.opaque_data, kDrainPing.size()) ==
                          text_of(kDrainPing.data(), kDrainPing.size());
    }
    if (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA) return;
    ServerCall* call = find(frame.hd.stream_id);
    if (call == nullptr) return;
    run_call(*call, [&] {
        const bool is_head =
            frame.hd.type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_REQUEST;
        if (is_head) call->on_head();
        if (ends_stream(frame)) call->on_end();
    });
}

void ServerSession::spend(FrameBudget& budget) {
    if (!budget.spend()) end_flood();
}

void ServerSession::end_flood() {
    if (!is_ended_) context_.counters.floods.add(1);
    end(NGHTTP2_ENHANCE_YOUR_CALM);
}

void ServerSession::end(std::uint32_t error) {
    if (!std::exchange(is_ended_, true)) nghttp2_session_terminate_session(http2_, error);
}

// A call that was answered before the client has sent everything is reset, so that the client
// stops.
void ServerSession::on_frame_sent(const nghttp2_frame& frame) {
    turn_.spend_record();
    if (frame.hd.type != NGHTTP2_HEADERS || !ends_stream(frame)) return;
    const ServerCall* call = find(frame.hd.stream_id);
    if (call == nullptr || call->is_request_complete_) return;
    nghttp2_submit_rst_stream(http2_, NGHTTP2_FLAG_NONE, frame.hd.stream_id, NGHTTP2_NO_ERROR);
}

Completion ServerSession::completion_for(std::int32_t stream) {
    SLUICE_CHECK(context_.post != nullptr);
    if (self_ == nullptr) self_ = std::make_shared<ServerSession*>(this);
    return Completion(
        [post = context_.post, session = std::weak_ptr(self_), stream](Answer answer) {
            (*post)([session, stream, answer = std::move(answer)]() mutable {
                if (const auto alive = session.lock())
                    (*alive)->complete(stream, std::move(answer));
            });
        });
}

void ServerSession::complete(std::int32_t stream, Answer answer) {
    ServerCall* call = find(stream);
    if (call == nullptr || !call->is_deferred()) return;
    call->complete(std::move(answer));
    wake();
}

// Within receive() the owner sends what there is afterwards.
void ServerSession::wake() const {
    if (!is_receiving_ && wake_) wake_();
}

}  // namespace sluice::grpc
