#include "regional/redis/redis_scripts.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(RedisScripts, AreNamedByTheirSha1) {
    std::set<std::string> names;
    for (const RedisScript* script : all_scripts()) {
        EXPECT_EQ(script->sha1.size(), 40U);
        EXPECT_EQ(script->sha1.find_first_not_of("0123456789abcdef"), std::string::npos);
        names.insert(script->sha1);
    }
    EXPECT_EQ(names.size(), all_scripts().size());
}

TEST(RedisScripts, KnowTheLargestCount) {
    for (const RedisScript* script : {&sync_script(), &spend_script()})
        EXPECT_NE(script->text.find("9007199254740991"), std::string::npos);
}

// Redis 6.2 refuses a write behind TIME otherwise.
TEST(RedisScripts, ReplicateTheEffectsOfTheHeartbeat) {
    const std::string& text = heartbeat_script().text;
    EXPECT_LT(text.find("redis.replicate_commands()"), text.find("'TIME'"));
}

// Lua's own conversion would lose digits of large counts.
TEST(RedisScripts, LeaveTheFormattingOfNumbersToRedis) {
    for (const RedisScript* script : all_scripts()) {
        EXPECT_EQ(script->text.find("tostring"), std::string::npos);
        EXPECT_EQ(script->text.find(" .. "), std::string::npos);
    }
}

TEST(RedisScripts, UseTheFieldsOfListings) {
    EXPECT_NE(sync_script().text.find("'" + std::string(kTotalField) + "'"), std::string::npos);
}

}  // namespace
}  // namespace sluice
