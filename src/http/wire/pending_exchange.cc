#include "http/wire/pending_exchange.h"

#include <utility>

#include "http/wire/connection.h"

namespace sluice::http {

void PendingExchange::end(State how) {
    const State before = std::exchange(state_, how);
    if (how == State::kAnswered && watch_) std::exchange(watch_, nullptr)(reply);
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

void Completion::watch(std::function<void(const Reply&)> watch) {
    if (exchange_ != nullptr) exchange_->watch(std::move(watch));
}

void Completion::drop() {
    exchange_->end(PendingExchange::State::kAbandoned);
}

}  // namespace sluice::http
