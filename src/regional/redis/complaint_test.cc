#include "regional/redis/complaint.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Complaint, RepeatsWhatRedisSaid) {
    EXPECT_EQ(complaint("ERR DB index is out of range", "secret"), "ERR DB index is out of range");
    EXPECT_EQ(complaint("ERR fine", ""), "ERR fine");
}

TEST(Complaint, HoldsNoSecret) {
    EXPECT_EQ(complaint("ERR unknown command 'AUTH', with args beginning with: 'secr", "secret"),
              "ERR unknown command 'AUTH'");
    EXPECT_EQ(complaint("ERR secret is not secret", "secret"), "ERR *** is not ***");
    EXPECT_EQ(complaint("ERR ***", "*"), "ERR *********");
}

TEST(Complaint, IsOneBoundedLine) {
    EXPECT_EQ(complaint("a\r\nb\x1b\xff", ""), "a??b??");
    EXPECT_LE(complaint(std::string(10'000, 'x'), "").size(), 200U);
}

TEST(Complaint, TellsAServerThatCantServe) {
    EXPECT_TRUE(says_not_serving("READONLY You can't write against a read only replica."));
    EXPECT_TRUE(says_not_serving("LOADING Redis is loading the dataset in memory"));
    EXPECT_TRUE(says_not_serving(
        "ERR Error running script (call to f_1): @user_script:9: -READONLY You can't write"));
    EXPECT_FALSE(says_not_serving("OOM command not allowed when used memory > 'maxmemory'."));
    EXPECT_FALSE(says_not_serving("NOSCRIPT No matching script."));
}

}  // namespace
}  // namespace sluice
