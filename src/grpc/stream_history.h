// The ended streams of a connection.
#ifndef SLUICE_GRPC_STREAM_HISTORY_H_
#define SLUICE_GRPC_STREAM_HISTORY_H_

#include <algorithm>
#include <cstdint>
#include <utility>

namespace sluice::grpc {

// Distinguishes HEADERS that break the protocol, on a stream that both sides have ended, from
// trailers that the client sent before it knew that the server had ended the stream. A list of
// streams would grow with the connection; this keeps three numbers, and excuses HEADERS on every
// stream up to the last one that the server ended first. So it finds no fault where there is none.
//
// Thread-compatible.
class StreamHistory {
  public:
    // HEADERS begin, on a stream that is not open. True if the client breaks the protocol.
    bool on_headers(std::int32_t stream) {
        excuse_refused();
        if (stream <= last_) return stream > excused_;
        last_ = began_ = stream;
        return false;
    }
    // The stream of the last HEADERS is open.
    void on_open() { began_ = 0; }
    // The server has ended a stream before the client did.
    void on_server_end(std::int32_t stream) { excused_ = std::max(excused_, stream); }

  private:
    // The last stream was not opened: there were too many, or the connection drains.
    void excuse_refused() {
        if (began_ != 0) on_server_end(std::exchange(began_, 0));
    }

    std::int32_t last_ = 0;     // the highest stream that the client has used
    std::int32_t began_ = 0;    // the same if it is not open yet, otherwise 0
    std::int32_t excused_ = 0;  // the highest stream that the server ended first
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_STREAM_HISTORY_H_
