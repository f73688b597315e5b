#include "insight/observer.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "insight/insight_fixture.h"

namespace sluice::insight {
namespace {

using namespace std::chrono_literals;
using Spent = Recorder::Spent;

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

TEST(Observer, SkipsASecondThatFails) {
    int seconds = 0;
    int failures = 0;
    bool fails = true;
    Observer observer({.seed = 1,
                       .read_status = [] { return NodeStatus{}; },
                       .read_latency = [] { return LatencyCounts{}; },
                       .on_second =
                           [&] {
                               if (fails) throw std::bad_alloc();
                               ++seconds;
                           },
                       .on_failure = [&](std::string_view) { ++failures; }});
    observer.end_second();
    observer.end_second();
    EXPECT_EQ(failures, 1);
    fails = false;
    observer.end_second();
    EXPECT_EQ(seconds, 1);
    fails = true;
    observer.end_second();
    EXPECT_EQ(failures, 2);
}

TEST(Observer, EndsASecondWhoseStatusCanNotBeRead) {
    int failures = 0;
    int seconds = 0;
    Observer observer({.seed = 1,
                       .read_status = []() -> NodeStatus { throw std::bad_alloc(); },
                       .read_latency = [] { return LatencyCounts{}; },
                       .exchange = [](const std::string&, const Observer::Options::Notes&) {},
                       .on_second = [&] { ++seconds; },
                       .on_failure = [&](std::string_view) { ++failures; }});
    bool is_done = false;
    observer.read_reports([&] { is_done = true; });
    observer.activity().count(request("i"), decided(false), Spent::kNothing);
    observer.end_second();
    observer.end_second();
    EXPECT_EQ(observer.activity().top_keys({.is_visible = everything}).total, 1U);
    EXPECT_TRUE(is_done);
    EXPECT_EQ(seconds, 0);
    EXPECT_EQ(failures, 1);
}

TEST(Observer, ShowsInstantsByTheWallClock) {
    UnixTime wall = kStart;
    Observer observer({.seed = 1,
                       .read_status = [] { return NodeStatus{}; },
                       .read_latency = [] { return LatencyCounts{}; },
                       .read_wall_clock = [&] { return wall; }});
    const auto last_denied = [&] {
        return observer.top_keys({.is_visible = everything}).top.keys.at(0).last_denied;
    };
    observer.activity().count(request("i"), decided(false), Spent::kNothing);
    observer.end_second();
    const UnixTime denied = last_denied();
    const UnixTime from = observer.traffic({.seconds = 1}, everything).from;
    wall += 1h + 200ms;
    observer.end_second();
    EXPECT_EQ(last_denied(), denied + 1h);
    EXPECT_EQ(observer.traffic({.seconds = 1}, everything).from, from + 1h);
    EXPECT_GE(observer.now(), kStart + 1h);
    EXPECT_LT(observer.now(), kStart + 1h + 1min);
    wall += 700ms;
    observer.end_second();
    EXPECT_EQ(last_denied(), denied + 1h) << "less than a second";
}

// Nodes that leave notes for each other.
class ObserverRegion : public testing::Test {
  protected:
    using Notes = Observer::Options::Notes;

    std::unique_ptr<Observer> node(const std::string& name) {
        return std::make_unique<Observer>(
            Observer::Options{.seed = std::hash<std::string>{}(name),
                              .read_status =
                                  [name] {
                                      return NodeStatus{.version = "1",
                                                        .node = name,
                                                        .region = "eu",
                                                        .listen = {},
                                                        .admin_listen = {},
                                                        .grpc_listen = {}};
                                  },
                              .read_latency = [] { return LatencyCounts{}; },
                              .exchange =
                                  [this, name](const std::string& report, const Notes& notes) {
                                      if (is_stuck_) return;
                                      if (!is_available_) return notes(std::nullopt);
                                      notes_[name] = report;
                                      ++writes_;
                                      if (!notes) return;
                                      ++reads_;
                                      std::vector<NodeNote> all;
                                      for (const auto& [owner, text] : notes_)
                                          all.push_back({.node = owner, .age = 1ms, .text = text});
                                      notes(std::move(all));
                                  }});
    }
    static void deny(Observer& node, std::string_view identifier, int times) {
        for (int i = 0; i < times; ++i)
            node.activity().count(request(identifier), decided(false), Spent::kNothing);
        node.end_second();
    }

    static void ask(Observer& node) {
        bool is_done = false;
        node.read_reports([&] { is_done = true; });
        EXPECT_TRUE(is_done);
    }

    bool is_stuck_ = false;
    bool is_available_ = true;
    int writes_ = 0;
    int reads_ = 0;
    std::map<std::string, std::string> notes_;
};

TEST_F(ObserverRegion, ReadsReportsWhileTheyAreAskedFor) {
    const auto a = node("a");
    for (int second = 0; second < 20; ++second)
        a->end_second();
    EXPECT_EQ(reads_, 1) << "at the start";
    EXPECT_EQ(writes_, 11);
    EXPECT_TRUE(a->has_recent_reports());
    a->end_second();
    a->end_second();
    EXPECT_EQ(reads_, 3) << "it was asked";
    EXPECT_EQ(writes_, 13);
}

TEST_F(ObserverRegion, WaitsForReportsForTwoSecondsAtMost) {
    const auto a = node("a");
    is_stuck_ = true;
    bool is_done = false;
    a->read_reports([&] { is_done = true; });
    a->end_second();
    EXPECT_FALSE(is_done);
    EXPECT_FALSE(a->has_recent_reports());
    a->end_second();
    EXPECT_TRUE(is_done);
    EXPECT_TRUE(a->has_recent_reports()) << "no caller waits for a report that is known to be late";
    EXPECT_TRUE(a->fleet().is_partial);
}

TEST(Observer, EndsReadsWhenItIsStopped) {
    std::vector<Observer::Options::Notes> reads;
    Observer observer({.seed = 1,
                       .read_status = [] { return NodeStatus{}; },
                       .read_latency = [] { return LatencyCounts{}; },
                       .exchange =
                           [&](const std::string&, Observer::Options::Notes notes) {
                               if (notes) reads.push_back(std::move(notes));
                           }});
    int calls = 0;
    observer.read_reports([&] { ++calls; });
    EXPECT_EQ(calls, 0) << "the origin does not answer";
    observer.stop();
    EXPECT_EQ(calls, 1);
    observer.read_reports([&] { ++calls; });
    EXPECT_EQ(calls, 2);
    ASSERT_EQ(reads.size(), 1U);
    reads[0](std::nullopt);
    EXPECT_EQ(calls, 2);
}

TEST_F(ObserverRegion, LeavesReportsWhileAReadIsUnderway) {
    const auto a = node("a");
    is_stuck_ = true;
    a->read_reports([] {});  // is never answered
    is_stuck_ = false;
    a->end_second();
    a->end_second();
    EXPECT_EQ(writes_, 2);
    EXPECT_EQ(reads_, 0);
}

TEST_F(ObserverRegion, RemovesTheNotesOfNodesThatAreGone) {
    const auto a = node("a");
    for (int second = 0; second < 121; ++second)
        a->end_second();
    EXPECT_EQ(reads_, 3) << "reading does that";
}

TEST_F(ObserverRegion, ReadsReportsForTheFirstAsker) {
    const auto a = node("a");
    const auto b = node("b");
    a->end_second();
    deny(*b, "bob", 5);
    EXPECT_EQ(a->fleet().nodes.size(), 1U) << "of the report before";
    ask(*a);
    EXPECT_EQ(a->fleet().nodes.size(), 2U);
    EXPECT_EQ(a->top_keys({.is_visible = everything}).top.total, 5U);
    EXPECT_TRUE(a->has_recent_reports());
    is_available_ = false;
    ask(*a);
}

TEST_F(ObserverRegion, MergesTheTopKeysOfItsNodes) {
    const auto a = node("a");
    const auto b = node("b");
    ask(*b);
    deny(*a, "alice", 3);
    deny(*b, "alice", 4);
    deny(*b, "bob", 5);
    ask(*a);
    const RegionTopKeys region = a->top_keys({.is_visible = everything});
    EXPECT_EQ(region.nodes, 2U);
    EXPECT_FALSE(region.is_partial);
    EXPECT_EQ(region.top.total, 12U);
    ASSERT_EQ(region.top.keys.size(), 2U);
    EXPECT_EQ(region.top.keys[0].text->identifier, "alice");
    EXPECT_EQ(region.top.keys[0].denials, 7U);
    EXPECT_EQ(region.top.keys[0].denials_error, 0U);
    const Fleet fleet = a->fleet();
    ASSERT_EQ(fleet.nodes.size(), 2U);
    EXPECT_EQ(fleet.nodes[0].node, "a");
    EXPECT_EQ(fleet.nodes[1].node, "b");
    EXPECT_EQ(fleet.nodes[1].report->version, "1");
}

TEST_F(ObserverRegion, ReportsItsOwnKeysWhileTheOriginIsUnavailable) {
    is_available_ = false;
    const auto a = node("a");
    deny(*a, "alice", 3);
    const RegionTopKeys region = a->top_keys({.is_visible = everything});
    EXPECT_TRUE(region.is_partial);
    EXPECT_EQ(region.nodes, 1U);
    EXPECT_EQ(region.top.keys.at(0).denials, 3U);
    EXPECT_TRUE(a->fleet().is_partial);
}

TEST_F(ObserverRegion, IgnoresNotesOfAnotherVersion) {
    notes_["newer"] = "sluice-report-9 anything";
    const auto a = node("a");
    deny(*a, "alice", 1);
    EXPECT_EQ(a->fleet().nodes.size(), 1U);
    EXPECT_TRUE(a->fleet().is_partial) << "that node is missing";
    EXPECT_TRUE(a->top_keys({.is_visible = everything}).is_partial);
    notes_.erase("newer");
    ask(*a);
    EXPECT_FALSE(a->fleet().is_partial);
}

}  // namespace
}  // namespace sluice::insight
