#include "grpc/client/client_session.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "grpc/header_values.h"

namespace sluice::grpc {

namespace {

constexpr std::int32_t kConnectionWindow = 1024 * 1024;

// Messages that the server leaves unread.
constexpr std::size_t kMostUnsent = 1024UL * 1024;

// Texts of the server are kept up to this size.
constexpr std::size_t kLongestText = 1024;

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
}

nghttp2_nv field_of(std::string_view name, std::string_view value) {
    // nghttp2 copies both.
    return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
            reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())),
            name.size(),
            value.size(),
            NGHTTP2_NV_FLAG_NONE};
}

// The code for a response without grpc-status.
Code code_of_http(std::string_view status) {
    if (status == "400") return Code::kInternal;
    if (status == "401") return Code::kUnauthenticated;
    if (status == "403") return Code::kPermissionDenied;
    if (status == "404") return Code::kUnimplemented;
    if (status == "429" || status == "502" || status == "503" || status == "504")
        return Code::kUnavailable;
    return Code::kUnknown;
}

Code code_of(std::string_view text) {
    unsigned int number = 0;
    const char* const last = text.data() + text.size();
    const auto [end, failed] = std::from_chars(text.data(), last, number);
    if (failed != std::errc{} || end != last || number > 16) return Code::kUnknown;
    return static_cast<Code>(number);
}

}  // namespace

// nghttp2 is written in C: no exception may pass through it.
struct ClientSession::Callbacks {
    template <class Act>
    static int guard(Act act) {
        try {
            act();
            return 0;
        } catch (const std::exception&) {
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
    }

    static int on_header(nghttp2_session* /*http2*/,
                         const nghttp2_frame* /*frame*/,
                         const std::uint8_t* name,
                         std::size_t name_size,
                         const std::uint8_t* value,
                         std::size_t value_size,
                         std::uint8_t /*flags*/,
                         void* owner) {
        return guard([&] {
            static_cast<ClientSession*>(owner)->on_field(text_of(name, name_size),
                                                         text_of(value, value_size));
        });
    }

    static int on_data_chunk(nghttp2_session* /*http2*/,
                             std::uint8_t /*flags*/,
                             std::int32_t /*stream*/,
                             const std::uint8_t* data,
                             std::size_t size,
                             void* owner) {
        return guard([&] { static_cast<ClientSession*>(owner)->on_data(text_of(data, size)); });
    }

    static int on_stream_close(nghttp2_session* /*http2*/,
                               std::int32_t /*stream*/,
                               std::uint32_t error,
                               void* owner) {
        return guard([&] { static_cast<ClientSession*>(owner)->on_close(error); });
    }

    static int on_frame(nghttp2_session* /*http2*/, const nghttp2_frame* frame, void* owner) {
        if (frame->hd.type == NGHTTP2_SETTINGS) static_cast<ClientSession*>(owner)->is_open_ = true;
        return 0;
    }

    static ssize_t on_read(nghttp2_session* /*http2*/,
                           std::int32_t /*stream*/,
                           std::uint8_t* to,
                           std::size_t size,
                           std::uint32_t* /*flags*/,
                           nghttp2_data_source* source,
                           void* /*owner*/) {
        std::string& unsent = static_cast<ClientSession*>(source->ptr)->unsent_;
        if (unsent.empty()) return NGHTTP2_ERR_DEFERRED;
        const std::size_t count = std::min(size, unsent.size());
        std::memcpy(to, unsent.data(), count);
        unsent.erase(0, count);
        return static_cast<ssize_t>(count);
    }

    static const nghttp2_session_callbacks* get() {
        static const nghttp2_session_callbacks* const callbacks = create();
        return callbacks;
    }

    static const nghttp2_session_callbacks* create() {
        nghttp2_session_callbacks* callbacks = nullptr;
        if (nghttp2_session_callbacks_new(&callbacks) != 0) throw std::bad_alloc();
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
        return callbacks;
    }
};

ClientSession::ClientSession(Options options) : options_(std::move(options)) {
    if (nghttp2_session_client_new(&http2_, Callbacks::get(), this) != 0) throw std::bad_alloc();
    const nghttp2_settings_entry no_push{NGHTTP2_SETTINGS_ENABLE_PUSH, 0};
    const std::array fields{field_of(":method", "POST"),
                            field_of(":scheme", options_.scheme),
                            field_of(":path", options_.path),
                            field_of(":authority", options_.authority),
                            field_of("content-type", "application/grpc"),
                            field_of("te", "trailers")};
    nghttp2_data_provider body{};
    body.source.ptr = this;
    body.read_callback = Callbacks::on_read;
    if (nghttp2_submit_settings(http2_, NGHTTP2_FLAG_NONE, &no_push, 1) == 0 &&
        nghttp2_session_set_local_window_size(http2_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow) == 0)
        stream_ =
            nghttp2_submit_request(http2_, nullptr, fields.data(), fields.size(), &body, nullptr);
    if (stream_ > 0) return;
    nghttp2_session_del(http2_);
    throw std::bad_alloc();
}

ClientSession::~ClientSession() {
    nghttp2_session_del(http2_);
}

void ClientSession::send(std::string_view message) {
    if (end_) return;
    if (unsent_.size() > kMostUnsent)
        return fail(Code::kResourceExhausted, "The server does not read what it is sent.");
    append_message(message, unsent_);
    nghttp2_session_resume_data(http2_, stream_);
}

void ClientSession::ping() {
    nghttp2_submit_ping(http2_, NGHTTP2_FLAG_NONE, nullptr);
}

bool ClientSession::receive(std::string_view bytes) {
    return nghttp2_session_mem_recv(
               http2_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()) >= 0;
}

bool ClientSession::take_output(std::string& out) {
    const std::uint8_t* bytes = nullptr;
    while (true) {
        const ssize_t size = nghttp2_session_mem_send(http2_, &bytes);
        if (size < 0) return false;
        if (size == 0) break;
        out += text_of(bytes, static_cast<std::size_t>(size));
    }
    return end_ || nghttp2_session_want_read(http2_) != 0;
}

void ClientSession::on_field(std::string_view name, std::string_view value) {
    const std::string_view kept = value.substr(0, kLongestText);
    if (name == ":status") http_status_ = kept;
    if (name == "grpc-status") grpc_status_ = kept;
    if (name == "grpc-message") grpc_message_ = percent_decode(kept);
}

void ClientSession::on_data(std::string_view bytes) {
    using Outcome = MessageReader::Outcome;
    while (!bytes.empty() && !end_) {
        switch (reader_.read(bytes, options_.max_message)) {
            case Outcome::kNeedMore:
                break;
            case Outcome::kMessage:
                options_.on_message(reader_.message());
                break;
            case Outcome::kTooLarge:
                return fail(
                    Code::kResourceExhausted,
                    "A message is larger than " + std::to_string(options_.max_message) + " bytes.");
            default:
                return fail(Code::kInternal, "A message is compressed or malformed.");
        }
    }
}

void ClientSession::fail(Code code, std::string message) {
    end_ = {code, std::move(message)};
    nghttp2_submit_rst_stream(http2_, NGHTTP2_FLAG_NONE, stream_, NGHTTP2_CANCEL);
}

void ClientSession::on_close(std::uint32_t error) {
    if (end_) return;
    if (!grpc_status_.empty()) {
        end_ = {code_of(grpc_status_), grpc_message_};
    } else if (!http_status_.empty() && http_status_ != "200") {
        end_ = {code_of_http(http_status_),
                "The server answered with status " + http_status_ + "."};
    } else {
        end_ = {Code::kUnavailable,
                std::string("The server ended the call: ") + nghttp2_http2_strerror(error) + "."};
    }
}

}  // namespace sluice::grpc
