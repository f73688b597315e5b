// nghttp2's callbacks as methods of a session.
#ifndef SLUICE_GRPC_SESSION_CALLBACKS_H_
#define SLUICE_GRPC_SESSION_CALLBACKS_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string_view>

#include <nghttp2/nghttp2.h>

namespace sluice::grpc {

inline std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
}

// What an endpoint of either side needs. nghttp2 is written in C: no exception may pass through it,
// so one ends the connection. `Session` has these methods:
//
//     void on_field(std::int32_t stream, std::string_view name, std::string_view value);
//     void on_data(std::int32_t stream, std::string_view bytes);
//     void on_frame(const nghttp2_frame& frame);
//     void on_close(std::int32_t stream, std::uint32_t error);
template <class Session>
class SessionCallbacks {
  public:
    // Never freed. Throws std::bad_alloc.
    static nghttp2_session_callbacks* create() {
        nghttp2_session_callbacks* callbacks = nullptr;
        if (nghttp2_session_callbacks_new(&callbacks) != 0) throw std::bad_alloc();
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
        return callbacks;
    }

    template <class Act>
    static int run(void* session, Act act) {
        try {
            act(*static_cast<Session*>(session));
            return 0;
        } catch (const std::exception&) {
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
    }

  private:
    static int on_header(nghttp2_session* /*http2*/,
                         const nghttp2_frame* frame,
                         const std::uint8_t* name,
                         std::size_t name_size,
                         const std::uint8_t* value,
                         std::size_t value_size,
                         std::uint8_t /*flags*/,
                         void* owner) {
        return run(owner, [&](Session& session) {
            session.on_field(
                frame->hd.stream_id, text_of(name, name_size), text_of(value, value_size));
        });
    }

    static int on_data_chunk(nghttp2_session* /*http2*/,
                             std::uint8_t /*flags*/,
                             std::int32_t stream,
                             const std::uint8_t* data,
                             std::size_t size,
                             void* owner) {
        return run(owner, [&](Session& session) { session.on_data(stream, text_of(data, size)); });
    }

    static int on_frame_recv(nghttp2_session* /*http2*/, const nghttp2_frame* frame, void* owner) {
        return run(owner, [&](Session& session) { session.on_frame(*frame); });
    }

    static int on_stream_close(nghttp2_session* /*http2*/,
                               std::int32_t stream,
                               std::uint32_t error,
                               void* owner) {
        return run(owner, [&](Session& session) { session.on_close(stream, error); });
    }
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_SESSION_CALLBACKS_H_
