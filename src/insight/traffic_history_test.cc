#include "insight/traffic_history.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace sluice::insight {
namespace {

constexpr std::int64_t kNow = 1'700'000'000;

bool everything(const ShownNamespace&) {
    return true;
}

class TrafficHistoryTest : public testing::Test {
  protected:
    struct Counted {
        std::string name_space;
        std::uint64_t passed;
        std::uint64_t denied = 0;
        std::string workspace = "w";
    };
    void add(std::int64_t second, const std::vector<Counted>& counted) {
        Batch batch;
        for (const Counted& each : counted) {
            const Request request{
                .workspace = each.workspace, .name_space = each.name_space, .identifier = "i"};
            const std::uint64_t hash =
                std::hash<std::string>{}(each.workspace + "/" + each.name_space) | 1U;
            NamespaceCounts& counts = *batch.counts_of(hash, request);
            counts.passed = each.passed;
            counts.denied = each.denied;
            batch.total.passed += each.passed;
            batch.total.denied += each.denied;
        }
        history_.add(batch, second);
    }
    TrafficReport report(std::int64_t end, std::int64_t seconds, std::int64_t step = 1) {
        return history_.report({.end = end, .seconds = seconds, .step = step}, everything);
    }
    using Numbers = TrafficReport::Numbers;

    TrafficHistory history_;
};

TEST_F(TrafficHistoryTest, ReportsSecondBySecond) {
    add(kNow, {{"login", 3, 1}, {"mail", 2}});
    add(kNow + 2, {{"login", 5}});
    history_.set_state({.latency = {7, 8, 9}, .keys_held = 4, .origin_unavailable = true},
                       kNow + 2);
    const TrafficReport got = report(kNow + 3, 4);
    EXPECT_EQ(got.from, UnixTime{std::chrono::seconds{kNow - 1}});
    EXPECT_EQ(got.passed, (Numbers{0, 5, 0, 5}));
    EXPECT_EQ(got.denied, (Numbers{0, 1, 0, 0}));
    ASSERT_EQ(got.namespaces.size(), 2U);
    EXPECT_EQ(got.namespaces[0].name, "login");
    EXPECT_EQ(got.namespaces[0].passed, (Numbers{0, 3, 0, 5}));
    EXPECT_EQ(got.namespaces[1].passed, (Numbers{0, 2, 0, 0}));
    EXPECT_EQ(got.p50, (Numbers{0, 0, 0, 7}));
    EXPECT_EQ(got.p999, (Numbers{0, 0, 0, 9}));
    EXPECT_EQ(got.keys_held, (Numbers{0, 0, 0, 4}));
    EXPECT_EQ(got.origin_unavailable, (Numbers{0, 0, 0, 1}));
}

TEST_F(TrafficHistoryTest, AddsUpTheSecondsOfAStep) {
    for (std::int64_t i = 0; i < 10; ++i)
        add(kNow + i, {{"n", 1, 2}});
    const TrafficReport got = report(kNow + 10, 9, 5);
    EXPECT_EQ(got.from, UnixTime{std::chrono::seconds{kNow}});
    EXPECT_EQ(got.passed, (Numbers{5, 5}));
    EXPECT_EQ(got.namespaces[0].denied, (Numbers{10, 10}));
}

TEST_F(TrafficHistoryTest, ForgetsAfterItsLength) {
    add(kNow, {{"n", 1}});
    add(kNow + static_cast<std::int64_t>(TrafficHistory::kSeconds), {{"n", 2}});
    const TrafficReport got = report(kNow + 3600, 3600);
    EXPECT_EQ(got.passed, Numbers(3600));
}

TEST_F(TrafficHistoryTest, GivesTheBusiestNamespacesARow) {
    std::vector<Counted> small;
    for (std::size_t i = 0; i < 2 * TrafficHistory::kNamespaces; ++i)
        small.push_back({"small" + std::to_string(i), 1});
    add(kNow, small);
    add(kNow + 1, {{"large", 1'000}});
    const TrafficReport got = report(kNow + 2, 2);
    EXPECT_EQ(got.namespaces.size(), TrafficHistory::kNamespaces);
    EXPECT_EQ(got.namespaces[0].name, "large");
    EXPECT_EQ(got.passed[0], static_cast<std::int64_t>(small.size()));
    std::int64_t listed = 0;
    for (const TrafficReport::Namespace& each : got.namespaces)
        listed += each.passed[0];
    EXPECT_EQ(listed, static_cast<std::int64_t>(TrafficHistory::kNamespaces) - 1);
}

TEST_F(TrafficHistoryTest, CountsWhatNamespacesWithoutARowAreDenied) {
    std::vector<Counted> all;
    for (std::size_t i = 0; i < TrafficHistory::kNamespaces + 3; ++i)
        all.push_back({"n" + std::to_string(i), 0, 1});
    add(kNow, all);
    add(kNow + 1, {{"n0", 0, 5}});
    EXPECT_EQ(history_.totals_since(kNow).other_denied, 3U);
    EXPECT_EQ(history_.totals_since(kNow + 1).other_denied, 0U);
}

TEST_F(TrafficHistoryTest, ListsNamespacesThatAreShownAsTheSameOnce) {
    const std::string start(kMaxShownBytes, 'n');
    add(kNow, {{start + "1", 1}, {start + "2", 2}, {start, 4}});
    const TrafficReport got = report(kNow + 1, 1);
    ASSERT_EQ(got.namespaces.size(), 2U) << "the third one is not cut";
    EXPECT_EQ(got.namespaces[0].passed, Numbers{4});
    EXPECT_EQ(got.namespaces[1].passed, Numbers{3});
}

TEST_F(TrafficHistoryTest, ShowsACallerOnlyWhatItMaySee) {
    add(kNow, {{"login", 1, 4, "a"}, {"login", 2, 5, "b"}, {"mail", 3, 6, "a"}});
    const auto is_visible = [](const ShownNamespace& shown) {
        return shown.workspace == "a" && shown.name == "login";
    };
    const TrafficReport got = history_.report({.end = kNow + 1, .seconds = 1}, is_visible);
    ASSERT_EQ(got.namespaces.size(), 1U);
    EXPECT_EQ(got.namespaces[0].passed, Numbers{1});
    EXPECT_EQ(got.passed, Numbers{6});
    EXPECT_TRUE(history_.totals_since(kNow + 1).namespaces.empty());
    const auto totals = history_.totals_since(0).namespaces;
    ASSERT_EQ(totals.size(), 3U);
    const auto other = std::ranges::find(totals, "b", &NamespaceTotal::workspace);
    ASSERT_NE(other, totals.end());
    EXPECT_EQ(other->name_space, "login");
    EXPECT_EQ(other->denied, 5U);
}

}  // namespace
}  // namespace sluice::insight
