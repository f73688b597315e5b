#include "regional/redis/cluster_slot.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

// The check value that the specification of Redis Cluster gives, and slots as CLUSTER KEYSLOT
// tells them.
TEST(ClusterSlot, IsTheOneThatRedisComputes) {
    EXPECT_EQ(crc16("123456789"), 0x31C3);
    EXPECT_EQ(crc16(""), 0);
    EXPECT_EQ(cluster_slot("123456789"), 12739);
    EXPECT_EQ(cluster_slot("foo"), 12182);
    EXPECT_EQ(cluster_slot("bar"), 5061);
    EXPECT_EQ(cluster_slot("hello"), 866);
}

TEST(ClusterSlot, IsThatOfTheBracesIfTheyHoldAnything) {
    EXPECT_EQ(cluster_slot("{foo}.bar"), cluster_slot("foo"));
    EXPECT_EQ(cluster_slot("a{foo}{bar}"), cluster_slot("foo"));
    EXPECT_EQ(cluster_slot("a{{foo}}"), cluster_slot("{foo"));
    EXPECT_EQ(cluster_slot("{}foo"), crc16("{}foo") % kClusterSlots);
    EXPECT_EQ(cluster_slot("{}{foo}"), crc16("{}{foo}") % kClusterSlots);
    EXPECT_EQ(cluster_slot("{foo"), crc16("{foo") % kClusterSlots);
    EXPECT_EQ(cluster_slot("}foo{"), crc16("}foo{") % kClusterSlots);
}

}  // namespace
}  // namespace sluice
