#include "support/origin_client.h"

#include <stdexcept>
#include <utility>

namespace sluice::redis_test {
namespace {

using namespace std::chrono_literals;

// Calls `start` with a callback, and runs the loop of `client` until that was called.
template <class Answer, class Start>
Answer answer_of(OriginClient& client, Start start) {
    const auto answer = std::make_shared<std::optional<Answer>>();
    start([answer](Answer got) { *answer = std::move(got); });
    if (!client.run_until([&] { return answer->has_value(); }))
        throw std::runtime_error("the origin did not answer");
    return **answer;
}

}  // namespace

OriginClient::OriginClient(const std::string& url, RedisOptions options)
    : OriginClient([&](boost::asio::io_context& loop) {
          auto parsed = parse_redis_url(url);
          if (!parsed) throw std::runtime_error(parsed.error().message);
          options.url = *parsed;
          if (options.timeout == RedisOptions{}.timeout) options.timeout = 2s;
          if (options.region.empty()) options.region = kRegion;
          if (options.node.empty()) options.node = "0123456789abcdef";
          auto origin = open_redis_origin(loop, std::move(options));
          if (!origin) throw std::runtime_error(origin.error().message);
          return *std::move(origin);
      }) {}

OriginClient::OriginClient(const Open& open) : origin_(open(loop_)) {
    origin_->start({.available =
                        [this](bool is_intact) {
                            is_available = true;
                            intact.push_back(is_intact);
                        },
                    .unavailable =
                        [this](const std::string& why) {
                            is_available = false;
                            failures.push_back(why);
                        },
                    .data_lost = [this] { ++losses; },
                    .write_refused = [this](const std::string& why) { refusals.push_back(why); }});
}

bool OriginClient::run_until(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        loop_.restart();
        loop_.run_one_for(10ms);
    }
    return true;
}

void OriginClient::run_for(std::chrono::milliseconds time) {
    loop_.restart();
    loop_.run_for(time);
}

bool OriginClient::heartbeat_until(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        heartbeat();
        run_for(100ms);
    }
    return true;
}

bool OriginClient::becomes_refused() {
    const std::size_t before = refusals.size();
    return heartbeat_until([&] { return refusals.size() > before; });
}

bool OriginClient::becomes_accepted() {
    return run_until([&] {
        run_for(50ms);
        return heartbeat().has_value();
    });
}

std::vector<KeyAnswer> OriginClient::sync(const std::vector<KeyComponents>& keys) {
    return answer_of<std::vector<KeyAnswer>>(
        *this, [&](auto synced) { origin_->sync(keys, std::move(synced)); });
}

std::vector<SpendAnswer> OriginClient::spend(const std::vector<KeySpend>& keys) {
    return answer_of<std::vector<SpendAnswer>>(
        *this, [&](auto spent) { origin_->spend(keys, std::move(spent)); });
}

HeartbeatAnswer OriginClient::heartbeat() {
    return answer_of<HeartbeatAnswer>(*this,
                                      [&](auto beaten) { origin_->heartbeat(std::move(beaten)); });
}

std::vector<std::optional<CellListing>> OriginClient::list(const std::vector<CellName>& cells) {
    return answer_of<std::vector<std::optional<CellListing>>>(
        *this, [&](auto listed) { origin_->list(cells, std::move(listed)); });
}

std::optional<std::vector<NodeNote>> OriginClient::leave_note(const std::string& note) {
    return answer_of<std::optional<std::vector<NodeNote>>>(
        *this, [&](auto read) { origin_->leave_note(note, std::move(read)); });
}

KeyAnswer OriginClient::sync(const CellName& cell, Count own, Incarnation incarnation) {
    KeyComponents components = components_of(cell, own);
    components.incarnation = incarnation;
    return sync({components}).front();
}

std::optional<CellTotals> OriginClient::read(const CellName& cell) {
    const KeyAnswer answer = sync(cell, 0);
    if (!answer) return std::nullopt;
    return (*answer)[0];
}

CellName cell_of(const std::string& identifier) {
    return {.workspace = "default",
            .name_space = "login",
            .identifier = identifier,
            .duration = Duration(60'000),
            .sequence = 28'000'000};
}

KeyComponents components_of(const CellName& cell, Count own, Count previous) {
    return {
        .current = cell, .incarnation = 0, .own = {own, previous}, .lifetime = Duration(120'000)};
}

}  // namespace sluice::redis_test
