// Each key with more than 1 % of the denials is among the top keys, and no count is off by more
// than its error, whatever the stream.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "insight/activity.h"

namespace sluice::insight {
namespace {

using namespace std::chrono_literals;

constexpr UnixTime kStart{1'700'000'100'000ms};
constexpr Decision kDenied{
    .passed = false, .limit = 1, .remaining = 0, .reset_at = {}, .retry_at = {}};

enum class Shape {
    kZipf,        // the i-th key has a share of 1 / i
    kBarely,      // some keys have just over 1 %, all others come once
    kRoundRobin,  // more keys than any sketch holds, one after the other
    kBursts,      // keys come once each, and every now and then the sketch is flooded
};

struct Stream {
    Shape shape;
    int seconds;
    int per_second;
    int heavy;  // keys that come often
};

// The key of the i-th denial.
std::string key_of(const Stream& stream, std::uint64_t i, std::uint64_t random) {
    const auto heavy = static_cast<std::uint64_t>(stream.heavy);
    switch (stream.shape) {
        case Shape::kZipf: {
            // The inverse of the sum of 1 / i, about exp.
            std::uint64_t rank = 1;
            for (std::uint64_t bits = random; (bits & 1U) != 0 && rank < (1U << 20U); bits >>= 1U)
                rank *= 2;
            return "k" + std::to_string(rank + (random >> 32U) % rank);
        }
        case Shape::kBarely:
            // 1.2 % for each heavy key.
            return random % 1'000 < 12 * heavy ? "heavy" + std::to_string(random % 1'000 / 12)
                                               : "once" + std::to_string(i);
        case Shape::kRoundRobin:
            return i % 50 == 0 ? "heavy" : "k" + std::to_string(i % 5'000);
        case Shape::kBursts:
            return i / 2'000 % 2 == 0 ? "flood" + std::to_string(i)
                                      : "heavy" + std::to_string(i % heavy);
    }
    return "";
}

// Denies the stream's keys over several seconds, and counts them exactly as well.
std::map<std::string, std::uint64_t> play(const Stream& stream,
                                          std::uint64_t seed,
                                          Activity& activity) {
    std::map<std::string, std::uint64_t> exact;
    Recorder recorders[2] = {Recorder(activity.hash()), Recorder(activity.hash())};
    std::uint64_t i = 0;
    std::uint64_t random = seed | 1U;
    for (int second = 0; second < stream.seconds; ++second) {
        for (int denial = 0; denial < stream.per_second; ++denial, ++i) {
            random ^= random << 13U;
            random ^= random >> 7U;
            random ^= random << 17U;
            const std::string key = key_of(stream, i, random);
            ++exact[key];
            const Request request{
                .name_space = "n", .identifier = key, .limit = 1, .duration = 60s};
            recorders[random >> 63U].count(request, kDenied, Recorder::Spent::kNothing);
        }
        for (Recorder& recorder : recorders)
            activity.collect(recorder);
        activity.end_second({}, kStart + (second + 1) * 1s);
    }
    return exact;
}

void check(const Stream& stream, std::uint64_t seed) {
    Activity activity(seed);
    const auto exact = play(stream, seed, activity);
    std::uint64_t total = 0;
    for (const auto& [key, count] : exact)
        total += count;
    const TopKeys top = activity.top_keys(
        {.window = Window::kTenMinutes, .most = 500, .is_visible = [](auto&) { return true; }});
    RC_ASSERT(top.total == total);
    std::map<std::string, const TopKey*> listed;
    for (const TopKey& key : top.keys) {
        const std::uint64_t truth = exact.at(key.text->identifier);
        RC_ASSERT(key.denials <= truth);
        RC_ASSERT(truth <= key.denials + key.denials_error);
        listed[key.text->identifier] = &key;
    }
    for (const auto& [key, count] : exact) {
        if (100 * count > total) RC_ASSERT(listed.contains(key));
    }
    // The error itself is a small part.
    if (!top.keys.empty()) RC_ASSERT(100 * top.keys[0].denials_error <= total);
}

TEST(TopKeys, HoldEveryKeyWithMoreThanOnePercentOfTheDenials) {
    const bool holds = rc::check([] {
        const Stream stream{.shape = *rc::gen::element(
                                Shape::kZipf, Shape::kBarely, Shape::kRoundRobin, Shape::kBursts),
                            .seconds = *rc::gen::inRange(1, 8),
                            .per_second = *rc::gen::element(10, 300, 3'000, 6'000),
                            .heavy = *rc::gen::inRange(1, 80)};
        check(stream, *rc::gen::arbitrary<std::uint64_t>());
    });
    EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace sluice::insight
