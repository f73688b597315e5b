#include "support/redis_proxy/relay.h"

#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "support/redis_proxy/resp_frame.h"

namespace sluice::redis_test {

namespace asio = boost::asio;
using boost::system::error_code;

Relay::Relay(Socket client, ProxyState& proxy)
    : proxy_(proxy), client_(std::move(client)), server_(client_.get_executor()) {}

void Relay::start() {
    const auto self = shared_from_this();
    server_.async_connect(proxy_.server, [this, self](error_code failed) {
        if (failed) return cut();
        error_code ignored;
        client_.set_option(asio::ip::tcp::no_delay(true), ignored);
        server_.set_option(asio::ip::tcp::no_delay(true), ignored);
        read(commands_, &Relay::take_command);
        read(replies_, &Relay::take_reply);
    });
}

void Relay::read(Direction& direction, Step handle) {
    const auto self = shared_from_this();
    direction.from.async_read_some(
        asio::buffer(direction.chunk),
        [this, self, &direction, handle](error_code failed, std::size_t size) {
            if (is_cut_) return;
            if (failed) {
                direction.ended = true;
                return next(direction, handle);
            }
            direction.arrived.append(direction.chunk.data(), size);
            while (auto frame = take_frame(direction.arrived))
                direction.frames.push_back(*std::move(frame));
            next(direction, handle);
            read(direction, handle);
        });
}

void Relay::next(Direction& direction, Step handle) {
    if (is_cut_ || direction.busy) return;
    if (direction.frames.empty()) {
        if (direction.ended) cut();
        return;
    }
    direction.busy = true;
    std::string frame = std::move(direction.frames.front());
    direction.frames.pop_front();
    (this->*handle)(std::move(frame));
}

void Relay::delay(Direction& direction, Step then, std::string frame) {
    const auto self = shared_from_this();
    direction.timer.expires_after(proxy_.injector.delay());
    direction.timer.async_wait([this, self, then, frame = std::move(frame)](error_code) mutable {
        if (!is_cut_) (this->*then)(std::move(frame));
    });
}

void Relay::write(Direction& direction, std::string bytes, Step handle) {
    const auto self = shared_from_this();
    direction.underway = std::move(bytes);
    asio::async_write(direction.to,
                      asio::buffer(direction.underway),
                      [this, self, &direction, handle](error_code failed, std::size_t) {
                          direction.busy = false;
                          if (failed) return cut();
                          next(direction, handle);
                      });
}

// Not at once: a long queue would need as deep a stack.
void Relay::drop(Direction& direction, Step handle) {
    asio::post(client_.get_executor(), [this, self = shared_from_this(), &direction, handle] {
        direction.busy = false;
        next(direction, handle);
    });
}

void Relay::cut_in(Direction& direction, const std::string& frame) {
    const auto self = shared_from_this();
    direction.underway = frame.substr(0, proxy_.injector.number(1, frame.size() - 1));
    asio::async_write(direction.to,
                      asio::buffer(direction.underway),
                      [this, self](error_code, std::size_t) { cut(); });
}

void Relay::cut() {
    if (is_cut_) return;
    is_cut_ = true;
    proxy_.past.add(sent_);
    error_code ignored;
    client_.close(ignored);
    server_.close(ignored);
    commands_.timer.cancel();
    replies_.timer.cancel();
}

void Relay::take_command(std::string command) {
    if (!proxy_.injector.draw(&Faults::delay_command)) return forward(std::move(command));
    proxy_.injector.count(&FaultCounts::delay_command);
    delay(commands_, &Relay::forward, std::move(command));
}

void Relay::forward(std::string command) {
    FaultInjector& injector = proxy_.injector;
    if (injector.draw(&Faults::replay_command)) proxy_.replay();
    if (injector.draw(&Faults::cut_before_command)) {
        injector.count(&FaultCounts::cut_before_command);
        return cut();
    }
    if (injector.draw(&Faults::cut_in_command)) {
        injector.count(&FaultCounts::cut_in_command);
        return cut_in(commands_, command);
    }
    sent_.add(command);
    awaited_.push_back(Awaited::kClient);
    if (injector.draw(&Faults::duplicate_command)) {
        awaited_.push_back(Awaited::kDuplicate);
        command += command;
    }
    write(commands_, std::move(command), &Relay::take_command);
}

void Relay::take_reply(std::string reply) {
    Awaited awaited = Awaited::kClient;
    if (!awaited_.empty()) {
        awaited = awaited_.front();
        awaited_.pop_front();
    }
    if (awaited == Awaited::kDuplicate) proxy_.injector.count(&FaultCounts::duplicate_command);
    if (awaited == Awaited::kClient && !swallows_ && proxy_.injector.draw(&Faults::swallow_reply)) {
        proxy_.injector.count(&FaultCounts::swallow_reply);
        swallows_ = true;
    }
    if (awaited == Awaited::kDuplicate || swallows_) return drop(replies_, &Relay::take_reply);
    if (!proxy_.injector.draw(&Faults::delay_reply)) return pass(std::move(reply));
    proxy_.injector.count(&FaultCounts::delay_reply);
    delay(replies_, &Relay::pass, std::move(reply));
}

void Relay::pass(std::string reply) {
    FaultInjector& injector = proxy_.injector;
    if (injector.draw(&Faults::cut_before_reply)) {
        injector.count(&FaultCounts::cut_before_reply);
        return cut();
    }
    if (injector.draw(&Faults::cut_in_reply)) {
        injector.count(&FaultCounts::cut_in_reply);
        return cut_in(replies_, reply);
    }
    write(replies_, std::move(reply), &Relay::take_reply);
}

}  // namespace sluice::redis_test
