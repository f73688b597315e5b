#include "insight/node_report.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::insight {
namespace {

using namespace std::chrono_literals;

bool everything(const ShownNamespace&) {
    return true;
}

struct Counted {
    std::string identifier;
    std::uint64_t denials;
    std::uint64_t spend = 0;
    std::string workspace = "w";
};

TopKey key(const Counted& counted) {
    return {.text = make_key_text({counted.workspace, "n", counted.identifier}),
            .denials = counted.denials,
            .denials_error = 1,
            .spend = counted.spend,
            .spend_error = 2,
            .limit = 10,
            .duration = 60s,
            .last = UnixTime{5s},
            .last_denied = UnixTime{5s}};
}

TEST(NodeReport, IsTheSameAfterDecoding) {
    NodeReport report{.version = "1.0",
                      .listen = "[::1]:80",
                      .state = NodeState::kDraining,
                      .started_at = UnixTime{77s},
                      .keys_held = 3,
                      .overrides_version = 4,
                      .bus_unavailable = true,
                      .windows = {}};
    WindowReport& window = report.windows[1];
    window.keys.push_back(key({"a b%\n\x7f gr\xC3\xBC\xC3\x9F", 5, 6}));
    window.totals.other_spend = 7;
    window.totals.namespaces.push_back(
        {.workspace = "w", .name_space = "", .denied = 8, .spend = 9});
    window.unlisted_denials = 11;
    window.unlisted_spend = 12;
    const std::string text = encode(report);
    const auto decoded = decode(text);
    ASSERT_TRUE(decoded) << text;
    EXPECT_EQ(encode(*decoded), text);
    EXPECT_EQ(decoded->listen, "[::1]:80");
    EXPECT_EQ(decoded->state, NodeState::kDraining);
    EXPECT_TRUE(decoded->bus_unavailable);
    const TopKey& got = decoded->windows[1].keys.at(0);
    EXPECT_EQ(got.text->identifier, "a b%\n\x7f gr\xC3\xBC\xC3\x9F");
    EXPECT_EQ(got.spend, 6U);
    EXPECT_EQ(got.duration, 60s);
    EXPECT_EQ(decoded->windows[1].totals.namespaces.at(0).denied, 8U);
    EXPECT_EQ(decoded->windows[1].totals.other_spend, 7U);
    EXPECT_EQ(decoded->windows[1].unlisted_spend, 12U);
}

TEST(NodeReport, RefusesWhatEncodeDidNotWrite) {
    NodeReport report;
    report.windows[0].keys.push_back(key({"a", 5}));
    const std::string text = encode(report);
    EXPECT_FALSE(decode(""));
    EXPECT_FALSE(decode("sluice-report-3" + text.substr(15)));
    EXPECT_FALSE(decode(text + " "));
    EXPECT_FALSE(decode(text + "\nz"));
    EXPECT_FALSE(decode("sluice-report-2\nk w n i 0 1 1 1 1 1 1 1")) << "no window";
    EXPECT_FALSE(decode("sluice-report-2\nw 3"));
    EXPECT_FALSE(decode("sluice-report-2\nw 0\nu 1"));
    EXPECT_FALSE(decode("sluice-report-2\nw 0\nu 99999999999999999 0"));
    EXPECT_FALSE(decode("sluice-report-2\nw 0\nt %4 n 0 0 0"));
    EXPECT_FALSE(decode(std::string(kMaxReportBytes + 1, 'x')));
    // Nothing but an error comes of any shorter or changed text.
    for (std::size_t i = 0; i < text.size(); ++i) {
        static_cast<void>(decode(std::string_view(text).substr(0, i)));
        std::string changed = text;
        changed[i] = '%';
        static_cast<void>(decode(changed));
    }
}

TEST(NodeReport, WritesUtf8AsItIs) {
    NodeReport report;
    report.windows[0].keys.push_back(key({"gr\xC3\xBC\xC3\x9F", 5}));
    EXPECT_NE(encode(report).find(" gr\xC3\xBC\xC3\x9F "), std::string::npos);
}

TEST(NodeReport, LeavesRoomForKeysBesideLongNamespaces) {
    NodeReport report;
    for (WindowReport& window : report.windows) {
        for (int i = 0; i < 32; ++i)
            window.totals.namespaces.push_back(
                {.workspace = std::string(500, ' ') + std::to_string(i),
                 .name_space = std::string(250, ' '),
                 .denied = 1});
        window.keys.push_back(key({"i", 5}));
    }
    const auto decoded = decode(encode(report));
    ASSERT_TRUE(decoded);
    for (const WindowReport& window : decoded->windows)
        EXPECT_EQ(window.keys.size(), 1U);
    const WindowReport& window = decoded->windows[0];
    EXPECT_LT(window.totals.namespaces.size(), 32U);
    EXPECT_EQ(window.totals.namespaces.size() + window.totals.other_denied, 32U);
    EXPECT_TRUE(merge_top_keys({&window}, {.is_visible = everything}).is_total_minimum);
}

TEST(NodeReport, IsBoundedAndAccountsForWhatItLeavesOut) {
    NodeReport report;
    for (WindowReport& window : report.windows) {
        for (int i = 0; i < 500; ++i)
            window.keys.push_back(key({std::string(250, ' ') + std::to_string(i),
                                       1'000 - static_cast<std::uint64_t>(i)}));
    }
    const std::string text = encode(report);
    EXPECT_LE(text.size(), kMaxReportBytes);
    const auto decoded = decode(text);
    ASSERT_TRUE(decoded);
    for (const WindowReport& window : decoded->windows) {
        ASSERT_GT(window.keys.size(), 10U);
        ASSERT_LT(window.keys.size(), 500U);
        EXPECT_EQ(window.unlisted_denials, window.keys.back().denials) << "one less, and its error";
    }
}

TEST(MergedTopKeys, HaveTheLimitOfTheLastRequest) {
    WindowReport first;
    first.keys = {key({"i", 5})};
    WindowReport second = first;
    second.keys[0].limit = 20;
    second.keys[0].last = UnixTime{6s};
    second.keys[0].last_denied = UnixTime{4s};
    for (const auto& nodes : {std::vector<const WindowReport*>{&first, &second},
                              std::vector<const WindowReport*>{&second, &first}}) {
        const TopKeys top = merge_top_keys(nodes, {.is_visible = everything});
        EXPECT_EQ(top.keys.at(0).limit, 20);
        EXPECT_EQ(top.keys.at(0).last_denied, UnixTime{5s});
    }
}

TEST(MergedTopKeys, KeepKeysApartThatAreShownAsTheSame) {
    const std::string start(kMaxShownBytes, 'x');
    WindowReport first;
    first.keys = {key({start + "1", 5}), key({start + "2", 4})};
    first.unlisted_denials = 3;
    WindowReport second;
    second.keys = {key({start + "1", 2})};
    const TopKeys top = merge_top_keys({&first, &second}, {.is_visible = everything});
    ASSERT_EQ(top.keys.size(), 2U);
    EXPECT_EQ(top.keys[0].denials, 7U);
    EXPECT_EQ(top.keys[0].denials_error, 2U);
    EXPECT_NE(top.keys[0].text->cut_id, top.keys[1].text->cut_id);
}

// As a faulty node might report.
TEST(MergedTopKeys, SubtractNoMoreThanThereIs) {
    WindowReport node;
    node.keys = {key({"i", 5}), key({"i", 4})};
    node.unlisted_denials = 3;
    const TopKeys top = merge_top_keys({&node}, {.is_visible = everything});
    EXPECT_EQ(top.keys.at(0).denials_error, 2U);
}

TEST(MergedTopKeys, StopAtTheLargestSum) {
    WindowReport node;
    node.keys = {key({"large", 1, kMaxSum})};
    node.totals.namespaces = {{.workspace = "w", .name_space = "n", .denied = 1, .spend = kMaxSum}};
    const TopKeys top =
        merge_top_keys({&node, &node, &node}, {.by = Ranking::kSpend, .is_visible = everything});
    EXPECT_EQ(top.total, kMaxSum);
    EXPECT_EQ(top.keys.at(0).spend, kMaxSum);
    EXPECT_EQ(top.keys.at(0).spend_error, 6U);
}

TEST(MergedTopKeys, AddUpOverNodes) {
    WindowReport first;
    first.keys = {key({"both", 10, 1}), key({"first", 8})};
    first.unlisted_denials = 3;
    first.totals.namespaces = {{.workspace = "w", .name_space = "n", .denied = 20, .spend = 1}};
    WindowReport second;
    second.keys = {key({"both", 5}), key({"hidden", 90, 0, "other"})};
    second.unlisted_denials = 7;
    second.totals.namespaces = {
        {.workspace = "w", .name_space = "n", .denied = 5, .spend = 0},
        {.workspace = "other", .name_space = "n", .denied = 90, .spend = 0}};
    const TopQuery query{
        .is_visible = [](const ShownNamespace& shown) { return shown.workspace == "w"; }};
    const TopKeys top = merge_top_keys({&first, &second}, query);
    EXPECT_EQ(top.total, 25U);
    EXPECT_FALSE(top.is_total_minimum);
    ASSERT_EQ(top.keys.size(), 2U);
    EXPECT_EQ(top.keys[0].text->identifier, "both");
    EXPECT_EQ(top.keys[0].denials, 15U);
    EXPECT_EQ(top.keys[0].denials_error, 2U);
    EXPECT_EQ(top.keys[1].denials, 8U);
    EXPECT_EQ(top.keys[1].denials_error, 1U + 7U) << "the second node may have counted up to 7";
    EXPECT_EQ(merge_top_keys({&first, &second}, {.most = 1, .is_visible = everything}).keys.size(),
              1U);
}

}  // namespace
}  // namespace sluice::insight
