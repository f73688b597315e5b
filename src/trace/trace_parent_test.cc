#include "trace/trace_parent.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::trace {
namespace {

const std::string kTrace = "0af7651916cd43dd8448eb211c80319c";
const std::string kSpan = "b7ad6b7169203331";

TEST(TraceParentTest, HasTraceSpanAndFlag) {
    const auto parent = parse_trace_parent("00-" + kTrace + "-" + kSpan + "-01");
    ASSERT_TRUE(parent);
    EXPECT_EQ(parent->trace_id, kTrace);
    EXPECT_EQ(parent->span_id, kSpan);
    EXPECT_TRUE(parent->is_sampled);
    EXPECT_FALSE(parse_trace_parent("00-" + kTrace + "-" + kSpan + "-00")->is_sampled);
    EXPECT_TRUE(parse_trace_parent("00-" + kTrace + "-" + kSpan + "-ff")->is_sampled);
}

TEST(TraceParentTest, OfALaterVersionMayBeLonger) {
    EXPECT_TRUE(parse_trace_parent("cc-" + kTrace + "-" + kSpan + "-01-what-the-future-brings"));
    EXPECT_TRUE(parse_trace_parent("01-" + kTrace + "-" + kSpan + "-01"));
    EXPECT_FALSE(parse_trace_parent("cc-" + kTrace + "-" + kSpan + "-01.what"));
    EXPECT_FALSE(parse_trace_parent("00-" + kTrace + "-" + kSpan + "-01-what"));
    EXPECT_FALSE(parse_trace_parent("ff-" + kTrace + "-" + kSpan + "-01"));
}

TEST(TraceParentTest, IsIgnoredIfItIsMalformed) {
    const std::string zeros32(32, '0');
    const std::string zeros16(16, '0');
    for (const std::string& text : {std::string(),
                                    std::string("00"),
                                    "00-" + zeros32 + "-" + kSpan + "-01",
                                    "00-" + kTrace + "-" + zeros16 + "-01",
                                    "00-" + kTrace + "-" + kSpan + "-0",
                                    "00-" + kTrace + "-" + kSpan + "-0x",
                                    "00_" + kTrace + "-" + kSpan + "-01",
                                    "0g-" + kTrace + "-" + kSpan + "-01",
                                    "00-" + kSpan + kSpan + "-" + kSpan + "_01",
                                    "00-0AF7651916CD43DD8448EB211C80319C-" + kSpan + "-01"})
        EXPECT_FALSE(parse_trace_parent(text)) << text;
}

}  // namespace
}  // namespace sluice::trace
