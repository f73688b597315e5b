#include "metrics/text.h"

#include <gtest/gtest.h>

namespace sluice::metrics {
namespace {

constexpr Name kName{"sluice_things_total", Type::kCounter, "Things."};

TEST(Text, WritesHelpTypeAndSamples) {
    std::string out;
    Text text(out);
    text.begin(kName);
    text.sample({}, std::uint64_t{7});
    text.sample({{"a", "x"}, {"b", "y"}}, 0.25, "_sum");
    EXPECT_EQ(out,
              "# HELP sluice_things_total Things.\n"
              "# TYPE sluice_things_total counter\n"
              "sluice_things_total 7\n"
              "sluice_things_total_sum{a=\"x\",b=\"y\"} 0.25\n");
}

TEST(Text, EscapesWhatWouldEndALabel) {
    std::string out;
    Text text(out);
    text.begin(kName);
    out.clear();
    text.sample({{"region", "a\"b\\c\nd"}}, std::uint64_t{1});
    EXPECT_EQ(out, "sluice_things_total{region=\"a\\\"b\\\\c\\nd\"} 1\n");
}

TEST(Text, ReplacesWhatIsNotUtf8) {
    std::string out;
    Text text(out);
    text.begin(kName);
    out.clear();
    text.sample({{"key1", "user_\xC3\xA9\xFF"}}, std::uint64_t{1});
    EXPECT_EQ(out, "sluice_things_total{key1=\"user_\xC3\xA9\xEF\xBF\xBD\"} 1\n");
}

TEST(Text, NumbersAreShortAndExact) {
    EXPECT_EQ(to_text(0.0025), "0.0025");
    EXPECT_EQ(to_text(5e-06), "5e-06");
    EXPECT_EQ(to_text(10), "10");
    EXPECT_EQ(to_text(0), "0");
}

}  // namespace
}  // namespace sluice::metrics
