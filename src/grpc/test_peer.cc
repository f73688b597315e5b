#include "grpc/test_peer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "grpc/header_values.h"
#include "grpc/message_reader.h"
#include "grpc/server_session.h"
#include "grpc/session_callbacks.h"

namespace sluice::grpc {

namespace {

nghttp2_nv field_of(const std::string& name, const std::string& value) {
    return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
            reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())),
            name.size(),
            value.size(),
            NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

struct TestPeer::Callbacks {
    static int on_header(nghttp2_session*,
                         const nghttp2_frame* frame,
                         const std::uint8_t* name,
                         std::size_t name_size,
                         const std::uint8_t* value,
                         std::size_t value_size,
                         std::uint8_t,
                         void* owner) {
        auto& response = static_cast<TestPeer*>(owner)->responses_[frame->hd.stream_id];
        response.fields[std::string(text_of(name, name_size))] = text_of(value, value_size);
        return 0;
    }

    static int on_data(nghttp2_session*,
                       std::uint8_t,
                       std::int32_t stream,
                       const std::uint8_t* data,
                       std::size_t size,
                       void* owner) {
        static_cast<TestPeer*>(owner)->responses_[stream].body += text_of(data, size);
        return 0;
    }

    static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* owner) {
        auto* peer = static_cast<TestPeer*>(owner);
        if (frame->hd.type == NGHTTP2_GOAWAY) {
            peer->goaway_error = frame->goaway.error_code;
            peer->goaway_last = frame->goaway.last_stream_id;
        }
        return 0;
    }

    static int on_close(nghttp2_session*, std::int32_t stream, std::uint32_t error, void* owner) {
        auto* peer = static_cast<TestPeer*>(owner);
        peer->responses_[stream].is_closed = true;
        peer->responses_[stream].error = error;
        peer->bodies_.erase(stream);
        return 0;
    }

    static ssize_t on_read(nghttp2_session*,
                           std::int32_t stream,
                           std::uint8_t* to,
                           std::size_t size,
                           std::uint32_t* flags,
                           nghttp2_data_source*,
                           void* owner) {
        Body& body = static_cast<TestPeer*>(owner)->bodies_[stream];
        const std::size_t count = std::min(size, body.bytes.size());
        std::memcpy(to, body.bytes.data(), count);
        body.bytes.erase(0, count);
        if (body.bytes.empty() && body.ends) {
            *flags |= NGHTTP2_DATA_FLAG_EOF;
        } else if (count == 0) {
            return NGHTTP2_ERR_DEFERRED;
        }
        return static_cast<ssize_t>(count);
    }
};

std::string TestResponse::message() const {
    const auto found = fields.find("grpc-message");
    return found == fields.end() ? "" : percent_decode(found->second);
}

TestPeer::TestPeer(std::uint32_t window) {
    nghttp2_session_callbacks* callbacks = nullptr;
    SLUICE_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::on_close);
    nghttp2_option* options = nullptr;
    SLUICE_CHECK(nghttp2_option_new(&options) == 0);
    nghttp2_option_set_no_auto_window_update(options, window < 65'535 ? 1 : 0);
    SLUICE_CHECK(nghttp2_session_client_new2(&http2_, callbacks, this, options) == 0);
    nghttp2_option_del(options);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window};
    SLUICE_CHECK(nghttp2_submit_settings(http2_, NGHTTP2_FLAG_NONE, &entry, 1) == 0);
}

TestPeer::~TestPeer() {
    nghttp2_session_del(http2_);
}

std::int32_t TestPeer::start(const TestRequest& request) {
    TestFields all{{":method", request.method},
                   {":scheme", "http"},
                   {":path", request.path},
                   {":authority", "localhost"},
                   {"te", "trailers"}};
    if (!request.content_type.empty()) all.emplace_back("content-type", request.content_type);
    all.insert(all.end(), request.fields.begin(), request.fields.end());
    std::vector<nghttp2_nv> fields;
    for (const auto& [name, value] : all)
        fields.push_back(field_of(name, value));
    nghttp2_data_provider body{};
    body.read_callback = Callbacks::on_read;
    const bool has_body = !request.body.empty() || !request.ends;
    const std::int32_t stream = nghttp2_submit_request(
        http2_, nullptr, fields.data(), fields.size(), has_body ? &body : nullptr, nullptr);
    SLUICE_CHECK(stream > 0);
    bodies_[stream] = {.bytes = request.body, .ends = request.ends};
    return stream;
}

void TestPeer::send_more(std::int32_t stream, std::string_view bytes, bool ends) {
    bodies_[stream].bytes += bytes;
    bodies_[stream].ends = ends;
    nghttp2_session_resume_data(http2_, stream);
}

void TestPeer::reset(std::int32_t stream, std::uint32_t error) {
    nghttp2_submit_rst_stream(http2_, NGHTTP2_FLAG_NONE, stream, error);
}

void TestPeer::ping() {
    nghttp2_submit_ping(http2_, NGHTTP2_FLAG_NONE, nullptr);
}

void TestPeer::open_window(std::int32_t stream, std::int32_t bytes) {
    nghttp2_submit_window_update(http2_, NGHTTP2_FLAG_NONE, stream, bytes);
}

std::string TestPeer::take_output() {
    std::string output;
    const std::uint8_t* bytes = nullptr;
    for (ssize_t size = 0; (size = nghttp2_session_mem_send(http2_, &bytes)) > 0;)
        output += text_of(bytes, static_cast<std::size_t>(size));
    return output;
}

bool TestPeer::receive(std::string_view bytes) {
    return nghttp2_session_mem_recv(
               http2_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()) >= 0;
}

bool TestPeer::exchange(ServerSession& server) {
    constexpr std::size_t kEnough = 64UL * 1024;
    const ServerSession::Time now{std::chrono::hours{1}};
    bool is_open = true;
    for (bool moved = true; moved && is_open;) {
        const std::string request = take_output();
        is_open = server.receive(request, now);
        std::string response;
        is_open &= server.send(response, kEnough);
        SLUICE_CHECK(receive(response));
        moved = !request.empty() || !response.empty();
    }
    return is_open && !server.is_finished();
}

TestResponse TestPeer::call(ServerSession& server, const TestRequest& request) {
    const std::int32_t stream = start(request);
    exchange(server);
    return responses_[stream];
}

http::Turn endless_turn() {
    constexpr std::size_t kEndless = std::numeric_limits<std::size_t>::max();
    return http::Turn({.bytes = kEndless, .records = kEndless, .calls = kEndless});
}

std::string framed(std::string_view message) {
    std::string bytes;
    append_message(message, bytes);
    return bytes;
}

std::vector<std::string> messages_of(std::string_view body) {
    std::vector<std::string> messages;
    MessageReader reader;
    while (reader.read(body, body.size()) == MessageReader::Outcome::kMessage)
        messages.emplace_back(reader.message());
    return messages;
}

}  // namespace sluice::grpc
