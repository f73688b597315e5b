#include "redis/proxy/relay.h"

#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "redis/proxy/resp_frame.h"

namespace sluice::redis_test {

namespace asio = boost::asio;
using boost::system::error_code;

Relay::Relay(Socket client, RelayWorld& world)
    : world_(world), client_(std::move(client)), server_(client_.get_executor()) {}

void Relay::start() {
    const auto self = shared_from_this();
    server_.async_connect(world_.server, [this, self](error_code failed) {
        if (failed) return cut();
        error_code ignored;
        client_.set_option(asio::ip::tcp::no_delay(true), ignored);
        server_.set_option(asio::ip::tcp::no_delay(true), ignored);
        read(commands_, &Relay::take_command);
        read(replies_, &Relay::take_reply);
    });
}

void Relay::read(Way& way, Step handle) {
    const auto self = shared_from_this();
    way.from.async_read_some(asio::buffer(way.chunk),
                             [this, self, &way, handle](error_code failed, std::size_t size) {
                                 if (is_cut_) return;
                                 if (failed) {
                                     way.ended = true;
                                     return next(way, handle);
                                 }
                                 way.arrived.append(way.chunk.data(), size);
                                 while (auto frame = take_frame(way.arrived))
                                     way.frames.push_back(*std::move(frame));
                                 next(way, handle);
                                 read(way, handle);
                             });
}

void Relay::next(Way& way, Step handle) {
    if (is_cut_ || way.busy) return;
    if (way.frames.empty()) {
        if (way.ended) cut();
        return;
    }
    way.busy = true;
    std::string frame = std::move(way.frames.front());
    way.frames.pop_front();
    (this->*handle)(std::move(frame));
}

void Relay::delay(Way& way, Step then, std::string frame) {
    const auto self = shared_from_this();
    way.timer.expires_after(world_.dice.delay());
    way.timer.async_wait([this, self, then, frame = std::move(frame)](error_code) mutable {
        if (!is_cut_) (this->*then)(std::move(frame));
    });
}

void Relay::write(Way& way, std::string bytes, Step handle) {
    const auto self = shared_from_this();
    way.underway = std::move(bytes);
    asio::async_write(way.to,
                      asio::buffer(way.underway),
                      [this, self, &way, handle](error_code failed, std::size_t) {
                          way.busy = false;
                          if (failed) return cut();
                          next(way, handle);
                      });
}

// Not at once: a long queue would need as deep a stack.
void Relay::drop(Way& way, Step handle) {
    asio::post(client_.get_executor(), [this, self = shared_from_this(), &way, handle] {
        way.busy = false;
        next(way, handle);
    });
}

void Relay::cut_in(Way& way, const std::string& frame) {
    const auto self = shared_from_this();
    way.underway = frame.substr(0, world_.dice.number(1, frame.size() - 1));
    asio::async_write(
        way.to, asio::buffer(way.underway), [this, self](error_code, std::size_t) { cut(); });
}

void Relay::cut() {
    if (is_cut_) return;
    is_cut_ = true;
    world_.past.add(sent_);
    error_code ignored;
    client_.close(ignored);
    server_.close(ignored);
    commands_.timer.cancel();
    replies_.timer.cancel();
}

void Relay::take_command(std::string command) {
    if (!world_.dice.draw(&Faults::delay_command)) return forward(std::move(command));
    world_.dice.count(&FaultCounts::delay_command);
    delay(commands_, &Relay::forward, std::move(command));
}

void Relay::forward(std::string command) {
    Dice& dice = world_.dice;
    if (dice.draw(&Faults::replay_command)) world_.replay();
    if (dice.draw(&Faults::cut_before_command)) {
        dice.count(&FaultCounts::cut_before_command);
        return cut();
    }
    if (dice.draw(&Faults::cut_in_command)) {
        dice.count(&FaultCounts::cut_in_command);
        return cut_in(commands_, command);
    }
    sent_.add(command);
    askers_.push_back(Asker::kClient);
    if (dice.draw(&Faults::duplicate_command)) {
        askers_.push_back(Asker::kNobody);
        command += command;
    }
    write(commands_, std::move(command), &Relay::take_command);
}

void Relay::take_reply(std::string reply) {
    Asker asker = Asker::kClient;
    if (!askers_.empty()) {
        asker = askers_.front();
        askers_.pop_front();
    }
    if (asker == Asker::kNobody) world_.dice.count(&FaultCounts::duplicate_command);
    if (asker == Asker::kClient && !swallows_ && world_.dice.draw(&Faults::swallow_reply)) {
        world_.dice.count(&FaultCounts::swallow_reply);
        swallows_ = true;
    }
    if (asker == Asker::kNobody || swallows_) return drop(replies_, &Relay::take_reply);
    if (!world_.dice.draw(&Faults::delay_reply)) return pass(std::move(reply));
    world_.dice.count(&FaultCounts::delay_reply);
    delay(replies_, &Relay::pass, std::move(reply));
}

void Relay::pass(std::string reply) {
    Dice& dice = world_.dice;
    if (dice.draw(&Faults::cut_before_reply)) {
        dice.count(&FaultCounts::cut_before_reply);
        return cut();
    }
    if (dice.draw(&Faults::cut_in_reply)) {
        dice.count(&FaultCounts::cut_in_reply);
        return cut_in(replies_, reply);
    }
    write(replies_, std::move(reply), &Relay::take_reply);
}

}  // namespace sluice::redis_test
