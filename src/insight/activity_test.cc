#include "insight/activity.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "insight/observer.h"

namespace sluice::insight {
namespace {

using namespace std::chrono_literals;
using Spent = Recorder::Spent;

constexpr UnixTime kStart{1'700'000'001'000ms};

bool everything(std::string_view, std::string_view) {
    return true;
}

Request request(std::string_view identifier, std::string_view workspace = "w") {
    return {.workspace = workspace,
            .name_space = "n",
            .identifier = identifier,
            .limit = 10,
            .duration = 60s};
}

Decision decided(bool passed) {
    return {.passed = passed, .limit = 10, .remaining = 0, .reset_at = {}, .retry_at = {}};
}

TEST(Activity, RanksTheKeysOfAllRecorders) {
    Activity activity(1);
    Recorder first(activity.hash());
    Recorder second(activity.hash());
    for (int i = 0; i < 3; ++i)
        first.count(request("alice"), decided(false), Spent::kNothing);
    second.count(request("alice"), decided(false), Spent::kNothing);
    for (int i = 0; i < 9; ++i)
        second.count(request("bob"), decided(true), Spent::kCost);
    activity.count(request("bob"), decided(false), Spent::kNothing);
    activity.collect(first);
    activity.collect(second);
    activity.end_second({}, kStart);

    TopQuery query{.is_visible = everything};
    TopKeys top = activity.top_keys(query);
    EXPECT_EQ(top.total, 5U);
    ASSERT_EQ(top.keys.size(), 2U);
    EXPECT_EQ(top.keys[0].text->identifier, "alice");
    EXPECT_EQ(top.keys[0].denials, 4U);
    EXPECT_EQ(top.keys[0].denials_error, 0U);
    EXPECT_EQ(top.keys[0].spend, 0U);
    EXPECT_EQ(top.keys[1].spend, 9U);

    query.by = Ranking::kSpend;
    top = activity.top_keys(query);
    EXPECT_EQ(top.total, 9U);
    ASSERT_EQ(top.keys.size(), 1U);
    EXPECT_EQ(top.keys[0].denials, 1U);

    const TrafficReport traffic = activity.traffic({.seconds = 1}, everything);
    EXPECT_EQ(traffic.passed, TrafficReport::Numbers{9});
    EXPECT_EQ(traffic.denied, TrafficReport::Numbers{5});
}

TEST(Activity, KeepsWorkspacesApart) {
    Activity activity(1);
    activity.count(request("i", "a"), decided(false), Spent::kNothing);
    activity.count(request("i", "b"), decided(false), Spent::kNothing);
    activity.end_second({}, kStart);
    const TopKeys top =
        activity.top_keys({.is_visible = [](std::string_view workspace, std::string_view) {
            return workspace == "a";
        }});
    EXPECT_EQ(top.keys.size(), 1U);
    EXPECT_EQ(top.total, 1U);
}

TEST(Activity, ListsAsManyAsAsked) {
    Activity activity(1);
    for (int i = 0; i < 50; ++i) {
        for (int j = 0; j <= i; ++j)
            activity.count(request(std::to_string(i)), decided(false), Spent::kNothing);
    }
    activity.end_second({}, kStart);
    const TopKeys top = activity.top_keys({.most = 3, .is_visible = everything});
    ASSERT_EQ(top.keys.size(), 3U);
    EXPECT_EQ(top.keys[0].denials, 50U);
    EXPECT_EQ(top.keys[2].denials, 48U);
}

TEST(Activity, LosesNothingBetweenThreads) {
    constexpr std::uint64_t kDenials = 20'000;
    Activity activity(1);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            Recorder recorder(activity.hash());
            for (std::uint64_t j = 0; j < kDenials; ++j) {
                recorder.count(request("i"), decided(false), Spent::kNothing);
                if (j % 1'000 == 0) activity.collect(recorder);
                if (j % 100 == 0) activity.count(request("i"), decided(false), Spent::kNothing);
            }
            activity.collect(recorder);
        });
    }
    for (int second = 1; second < 20; ++second) {
        activity.end_second({}, kStart + second * 1s);
        static_cast<void>(activity.top_keys({.is_visible = everything}));
    }
    for (std::thread& thread : threads)
        thread.join();
    activity.end_second({}, kStart + 20s);
    const TopKeys top = activity.top_keys({.is_visible = everything});
    EXPECT_EQ(top.keys[0].denials, 3 * (kDenials + kDenials / 100));
    EXPECT_EQ(top.total, top.keys[0].denials);
}

TEST(LatencyQuantiles, AreInterpolatedWithinABucket) {
    LatencyCounts before{};
    before[0] = 1'000;
    LatencyCounts after = before;
    EXPECT_EQ(latency_between(before, after).p99, 0U);
    after[1] += 100;  // 5 to 10 microseconds
    EXPECT_EQ(latency_between(before, after).p50, 8U);
    after[7] += 2;  // 500 microseconds to 1 ms
    const Latency latency = latency_between(before, after);
    EXPECT_EQ(latency.p50, 8U);
    EXPECT_GT(latency.p99, 500U);
    EXPECT_LE(latency.p999, 1'000U);
    after[20] += 1'000;
    EXPECT_GE(latency_between(before, after).p50, 10'000'000U) << "the last bucket has no bound";
}

}  // namespace
}  // namespace sluice::insight
