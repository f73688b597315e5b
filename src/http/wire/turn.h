// The budget of a connection's turn: the work that it may do before other connections get theirs.
#ifndef SLUICE_HTTP_WIRE_TURN_H_
#define SLUICE_HTTP_WIRE_TURN_H_

#include <algorithm>
#include <cstddef>

namespace sluice::http {

struct TurnLimits {
    std::size_t bytes = 256UL * 1024;  // read and written
    std::size_t records = 128;         // TLS records that were read, and HTTP/2 frames
    std::size_t calls = 64;            // requests and messages that were handled
};

// SocketConnection begins each turn. If may_continue() has returned false, it gives the connection
// another one, so that the code that stops need not. A unit of work that has begun is completed: a
// budget may be exceeded by one, and that of HTTP/2 frames by those of 512 bytes.
//
// Owned by one thread, whose connections share it.
class Turn {
  public:
    explicit Turn(const TurnLimits& limits) : limits_(limits), left_(limits) {}

    void begin() {
        left_ = limits_;
        is_over_ = false;
    }

    void spend_bytes(std::size_t bytes) { left_.bytes -= std::min(bytes, left_.bytes); }
    void spend_record() { left_.records -= std::min<std::size_t>(1, left_.records); }
    void spend_call() { left_.calls -= std::min<std::size_t>(1, left_.calls); }

    // False: there may be more to do, but not in this turn.
    bool may_continue() {
        is_over_ |= left_.bytes == 0 || left_.records == 0 || left_.calls == 0;
        return !is_over_;
    }
    bool is_over() const { return is_over_; }

  private:
    TurnLimits limits_;
    TurnLimits left_;
    bool is_over_ = false;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_TURN_H_
