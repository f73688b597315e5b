#include "url/collector_url.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(CollectorUrlTest, HasThePortAndThePathOfOtlp) {
    EXPECT_EQ(parse_collector_url("http://collector")->shown(), "http://collector:4318/v1/traces");
    EXPECT_EQ(parse_collector_url("http://[::1]/")->shown(), "http://[::1]:4318/v1/traces");
    EXPECT_EQ(parse_collector_url("http://10.0.0.1:80/otlp/v1/traces")->shown(),
              "http://10.0.0.1:80/otlp/v1/traces");
}

TEST(CollectorUrlTest, SaysWhatIsAllowed) {
    for (const std::string text : {"",
                                   "collector:4318",
                                   "https://collector",
                                   "http://",
                                   "http://collector:0",
                                   "http://collector:65536",
                                   "http://user@collector",
                                   "http://collector/a?b",
                                   "http://collector/a b",
                                   "http://collector/\r\nHost: x"}) {
        const auto url = parse_collector_url(text);
        ASSERT_FALSE(url) << text;
        EXPECT_NE(url.error().message.find("allowed is http://HOST[:PORT][/PATH]"),
                  std::string::npos)
            << url.error().message;
    }
}

}  // namespace
}  // namespace sluice
