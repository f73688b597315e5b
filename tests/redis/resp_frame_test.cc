#include "support/redis_proxy/resp_frame.h"

#include <gtest/gtest.h>

namespace sluice::redis_test {
namespace {

using namespace std::string_literals;

class RespFrame : public testing::TestWithParam<std::string> {};

TEST_P(RespFrame, EndsWithItsLastByteAndNotBefore) {
    const std::string frame = GetParam();
    EXPECT_EQ(frame_length(frame), frame.size());
    EXPECT_EQ(frame_length(frame + "+OK\r\n"), frame.size());
    for (std::size_t i = 0; i < frame.size(); ++i)
        EXPECT_EQ(frame_length(frame.substr(0, i)), std::nullopt) << i;
}

INSTANTIATE_TEST_SUITE_P(Each,
                         RespFrame,
                         testing::Values("+OK\r\n",
                                         "-ERR *3 is no array\r\n",
                                         ":-12\r\n",
                                         "$0\r\n\r\n",
                                         "$-1\r\n",
                                         "$4\r\n\r\n\r\n\r\n",
                                         "$3\r\na\0b\r\n"s,
                                         "*0\r\n",
                                         "*-1\r\n",
                                         "*2\r\n$3\r\nGET\r\n$1\r\nx\r\n",
                                         "*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n$2\r\n*9\r\n"));

TEST(RespFrames, AreTakenOneByOne) {
    std::string bytes = ":1\r\n*1\r\n$4\r\nPING\r\n$5\r\nhal";
    EXPECT_EQ(take_frame(bytes), ":1\r\n");
    EXPECT_EQ(take_frame(bytes), "*1\r\n$4\r\nPING\r\n");
    EXPECT_EQ(take_frame(bytes), std::nullopt);
    EXPECT_EQ(bytes, "$5\r\nhal");
}

TEST(RespFrames, KnowTheNameOfACommand) {
    EXPECT_EQ(command_name("*2\r\n$7\r\nevalSha\r\n$1\r\nx\r\n"), "EVALSHA");
    EXPECT_EQ(command_name("PING\r\n"), "");
    EXPECT_EQ(command_name("*0\r\n"), "");
}

}  // namespace
}  // namespace sluice::redis_test
