#include "http/wire/pending_exchange.h"

#include <utility>

#include "http/wire/connection.h"

namespace sluice::http {

void PendingExchange::end(State how) {
    const State before = std::exchange(state_, how);
    if (before != State::kWaiting) return;
    if (connection_ == nullptr) {
        delete this;
    } else {
        connection_->on_answered();
    }
}

void Completion::operator()() {
    if (exchange_ != nullptr) {
        std::exchange(exchange_, nullptr)->end(PendingExchange::State::kAnswered);
    }
}

void Completion::drop() {
    exchange_->end(PendingExchange::State::kAbandoned);
}

}  // namespace sluice::http
