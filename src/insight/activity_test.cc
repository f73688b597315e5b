#include "insight/activity.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "insight/insight_fixture.h"
#include "insight/node_report.h"

namespace sluice::insight {
namespace {

using namespace std::chrono_literals;
using Spent = Recorder::Spent;

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

TEST(Activity, StopsAtTheLargestSum) {
    Activity activity(1);
    Request large = request("large");
    large.cost = static_cast<std::int64_t>(kMaxSum);
    for (int second = 0; second < 3; ++second) {
        for (int i = 0; i < 3; ++i)
            activity.count(large, decided(true), Spent::kCost);
        activity.end_second({}, kStart + second * 10s);
    }
    const TopKeys top = activity.top_keys({.by = Ranking::kSpend, .is_visible = everything});
    EXPECT_EQ(top.total, kMaxSum);
    EXPECT_EQ(top.keys.at(0).spend, kMaxSum);
}

TEST(Activity, KeepsWorkspacesApart) {
    Activity activity(1);
    activity.count(request("i", "a"), decided(false), Spent::kNothing);
    activity.count(request("i", "b"), decided(false), Spent::kNothing);
    activity.end_second({}, kStart);
    const TopKeys top = activity.top_keys(
        {.is_visible = [](const ShownNamespace& shown) { return shown.workspace == "a"; }});
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

TEST(Activity, ShowsTheLimitOfTheLastRequest) {
    Activity activity(1);
    Request changed = request("i");
    const auto limit_by = [&](Ranking by) {
        return activity.top_keys({.by = by, .is_visible = everything}).keys.at(0).limit;
    };
    changed.limit = 20;
    activity.count(changed, decided(true), Spent::kCost);
    activity.end_second({}, kStart);
    changed.limit = 30;
    activity.count(changed, decided(false), Spent::kNothing);
    activity.end_second({}, kStart + 1s);
    EXPECT_EQ(limit_by(Ranking::kDenials), 30);
    EXPECT_EQ(limit_by(Ranking::kSpend), 30);
    changed.limit = 40;
    activity.count(changed, decided(true), Spent::kCost);
    activity.end_second({}, kStart + 2s);
    EXPECT_EQ(limit_by(Ranking::kDenials), 40);
    EXPECT_EQ(limit_by(Ranking::kSpend), 40);
}

TEST(Activity, ReportsTheHeaviestKeysOfEachWorkspace) {
    Activity activity(1);
    for (int i = 0; i < 300; ++i) {
        for (int j = 0; j < 3; ++j)
            activity.count(request(std::to_string(i), "busy"), decided(false), Spent::kNothing);
    }
    for (const std::string_view key : {"x", "x", "y"})
        activity.count(request(key, "quiet"), decided(false), Spent::kNothing);
    activity.end_second({}, kStart);
    const auto quiet_keys = [](const WindowReport& report) {
        return std::ranges::count_if(
            report.keys, [](const TopKey& key) { return key.text->workspace == "quiet"; });
    };
    const WindowReport all = activity.report(Window::kMinute, 100, everything);
    EXPECT_EQ(quiet_keys(all), 2);
    EXPECT_EQ(all.keys.size(), 102U);
    EXPECT_EQ(all.unlisted_denials, 3U);
    const WindowReport quiet = activity.report(
        Window::kMinute, 1, [](const ShownNamespace& shown) { return shown.workspace == "quiet"; });
    ASSERT_EQ(quiet.keys.size(), 1U);
    EXPECT_EQ(quiet.keys[0].text->identifier, "x");
    EXPECT_EQ(quiet.unlisted_denials, 2U);
}

TEST(Activity, ReportsSpendersBesideLongKeysThatAreDenied) {
    Activity activity(1);
    for (int i = 0; i < 100; ++i) {
        const std::string denied = std::string(250, ' ') + std::to_string(i);
        activity.count(request(denied), decided(false), Spent::kNothing);
        activity.count(request("spender " + std::to_string(i)), decided(true), Spent::kCost);
    }
    activity.end_second({}, kStart);
    NodeReport report;
    for (std::size_t i = 0; i < kWindows; ++i)
        report.windows[i] = activity.report(static_cast<Window>(i), 100, everything);
    const auto decoded = decode(encode(report));
    ASSERT_TRUE(decoded);
    for (const WindowReport& window : decoded->windows) {
        EXPECT_LT(window.keys.size(), 200U);
        const TopKeys top =
            merge_top_keys({&window}, {.by = Ranking::kSpend, .is_visible = everything});
        EXPECT_GT(top.keys.size(), 20U);
    }
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

}  // namespace
}  // namespace sluice::insight
