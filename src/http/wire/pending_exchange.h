// The reply of an exchange and the connection that waits for it.
#ifndef SLUICE_HTTP_WIRE_PENDING_EXCHANGE_H_
#define SLUICE_HTTP_WIRE_PENDING_EXCHANGE_H_

#include <cstdint>
#include <string>

#include "http/wire/exchange.h"
#include "http/wire/reply_writer.h"

namespace sluice::http {

class Connection;

// Owned by its connection, until that closes before the handler has answered. From then on it
// belongs to the handler's Completion. Owned by one thread.
class PendingExchange {
  public:
    enum class State : std::uint8_t {
        kHandling,   // handle() has not returned
        kWaiting,    // it has, and said kLater
        kAnswered,   // the completion was called
        kAbandoned,  // the completion was dropped
    };

    void start() {
        state_ = State::kHandling;
        failure.clear();
    }
    // After handle() said kLater and neither called nor dropped its completion.
    void wait_for(Connection* connection) {
        state_ = State::kWaiting;
        connection_ = connection;
    }
    void orphan() { connection_ = nullptr; }

    // The completion was called or dropped. Destroys an orphan.
    void end(State how);

    State state() const { return state_; }

    Reply reply;
    ReplyFraming framing;
    std::string failure;  // what handle() threw, if it did

  private:
    State state_ = State::kHandling;
    Connection* connection_ = nullptr;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_PENDING_EXCHANGE_H_
