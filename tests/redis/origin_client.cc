#include "redis/origin_client.h"

#include <stdexcept>
#include <utility>

namespace sluice::redis_test {
namespace {

using namespace std::chrono_literals;

}  // namespace

OriginClient::OriginClient(const std::string& url, RedisOptions options) {
    auto parsed = parse_redis_url(url);
    if (!parsed) throw std::runtime_error(parsed.error().message);
    options.url = *parsed;
    if (options.timeout == RedisOptions{}.timeout) options.timeout = 2s;
    if (options.region.empty()) options.region = "here";
    if (options.node.empty()) options.node = "0123456789abcdef";
    options.refused = [this](const std::string& why) { refusals.push_back(why); };
    auto origin = open_redis_origin(loop_, std::move(options));
    if (!origin) throw std::runtime_error(origin.error().message);
    origin_ = *std::move(origin);
    origin_->start({.back =
                        [this](bool remembers) {
                            is_back = true;
                            backs.push_back(remembers);
                        },
                    .away =
                        [this](const std::string& why) {
                            is_back = false;
                            whys.push_back(why);
                        },
                    .forgot = [this] { ++forgot; }});
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

std::vector<CellAnswer> OriginClient::read(const std::vector<CellName>& cells) {
    std::vector<CellQuestion> questions;
    for (const CellName& cell : cells)
        questions.push_back({cell, 0});
    std::optional<std::vector<CellAnswer>> answers;
    origin_->read(questions, [&](std::vector<CellAnswer> got) { answers = std::move(got); });
    if (!run_until([&] { return answers.has_value(); })) throw std::runtime_error("no answer");
    return *answers;
}

std::vector<CellAnswer> OriginClient::raise(const std::vector<CellComponent>& components) {
    std::optional<std::vector<CellAnswer>> answers;
    origin_->raise(components, [&](std::vector<CellAnswer> got) { answers = std::move(got); });
    if (!run_until([&] { return answers.has_value(); })) throw std::runtime_error("no answer");
    return *answers;
}

std::vector<std::optional<CellListing>> OriginClient::list(const std::vector<CellName>& cells) {
    std::optional<std::vector<std::optional<CellListing>>> listings;
    origin_->list(cells, [&](auto got) { listings = std::move(got); });
    if (!run_until([&] { return listings.has_value(); })) throw std::runtime_error("no answer");
    return *listings;
}

CellAnswer OriginClient::raise(const CellName& cell, Count own, Incarnation incarnation) {
    return raise({{cell, incarnation, own, Duration(60'000)}}).front();
}

CellAnswer OriginClient::read(const CellName& cell) {
    return read(std::vector<CellName>{cell}).front();
}

CellName cell_of(const std::string& identifier) {
    return {.workspace = "default",
            .name_space = "login",
            .identifier = identifier,
            .duration = Duration(60'000),
            .sequence = 28'000'000};
}

}  // namespace sluice::redis_test
