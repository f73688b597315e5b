#include "global/announcement_codec.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::string_literals;

RegionCount count_of(std::string identifier, Count count = 5) {
    return {.cell = {.workspace = "w",
                     .name_space = "login",
                     .identifier = std::move(identifier),
                     .duration = Duration{60'000},
                     .sequence = 300},
            .count = count};
}

// "w", "login", "alice", 60,000 ms, sequence 300, component 5.
const std::string kAlice =
    "\x00\x01w"
    "\x00\x05login"
    "\x00\x05"
    "alice"
    "\xe0\xd4\x03"
    "\xac\x02"
    "\x05"s;
const std::string kMessage =
    "SL\x01\x02"
    "eu"
    "\x01"s +
    kAlice;

bool is_malformed(const std::string& bytes) {
    const auto decoded = decode_announcement(bytes);
    const auto* const fault = std::get_if<AnnouncementFault>(&decoded);
    return fault != nullptr && *fault == AnnouncementFault::kMalformed;
}

TEST(AnnouncementCodec, HasTheDocumentedFormat) {
    const auto messages = encode_announcements("eu", {count_of("alice")});
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages[0].bytes, kMessage);
    EXPECT_EQ(messages[0].counts, 1U);
    EXPECT_EQ(messages[0].shard, shard_of("w"));
}

TEST(AnnouncementCodec, SharedBeginningsOfNamesAreSentOnce) {
    const auto messages = encode_announcements("eu", {count_of("alicia", 6), count_of("alice")});
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages[0].bytes,
              "SL\x01\x02"
              "eu"
              "\x02"s +
                  kAlice + "\x01\x00\x05\x00\x04\x02ia\xe0\xd4\x03\xac\x02\x06"s);
    const auto decoded = decode_announcement(messages[0].bytes);
    const auto& message = std::get<BusMessage>(decoded);
    EXPECT_EQ(message.region, "eu");
    ASSERT_EQ(message.counts.size(), 2U);
    EXPECT_EQ(message.counts[0].cell, count_of("alice").cell);
    EXPECT_EQ(message.counts[1].cell, count_of("alicia").cell);
    EXPECT_EQ(message.counts[1].count, 6U);
}

TEST(AnnouncementCodec, ShardsAreTheSameInAllVersions) {
    EXPECT_EQ(shard_of(""), 0xcb);
    EXPECT_EQ(shard_of("a"), 0xaf);
    EXPECT_EQ(shard_of("foobar"), 0x85);
}

TEST(AnnouncementCodec, AMessageHoldsTheWorkspacesOfOneShard) {
    std::vector<RegionCount> counts;
    for (int i = 0; i < 1'000; ++i) {
        counts.push_back(count_of("x"));
        counts.back().cell.workspace = std::to_string(i);
    }
    std::size_t seen = 0;
    for (const EncodedAnnouncement& message : encode_announcements("eu", counts)) {
        const auto decoded = decode_announcement(message.bytes);
        for (const RegionCount& count : std::get<BusMessage>(decoded).counts) {
            EXPECT_EQ(shard_of(count.cell.workspace), message.shard);
            ++seen;
        }
    }
    EXPECT_EQ(seen, 1'000U);
}

TEST(AnnouncementCodec, ABatchIsSplitByNumberOfCounts) {
    std::vector<RegionCount> counts;
    for (std::size_t i = 0; i < 2 * kMaxAnnouncedCounts + 1; ++i)
        counts.push_back(count_of(std::to_string(i)));
    const auto messages = encode_announcements("eu", counts);
    ASSERT_EQ(messages.size(), 3U);
    EXPECT_EQ(messages[0].counts, kMaxAnnouncedCounts);
    EXPECT_EQ(messages[2].counts, 1U);
}

TEST(AnnouncementCodec, ABatchIsSplitBySize) {
    std::vector<RegionCount> counts;
    for (char c = 0; c < 127; ++c) {  // without a shared beginning
        counts.push_back(count_of(std::string(256, c)));
        counts.back().cell.name_space = std::string(256, c);
    }
    const auto messages = encode_announcements(std::string(48, 'r'), counts);
    ASSERT_EQ(messages.size(), 2U);
    for (const EncodedAnnouncement& message : messages) {
        EXPECT_LE(message.bytes.size(), kMaxAnnouncementBytes);
        EXPECT_TRUE(std::holds_alternative<BusMessage>(decode_announcement(message.bytes)));
    }
    EXPECT_EQ(messages[0].counts + messages[1].counts, 127U);
    EXPECT_GT(messages[0].bytes.size(), kMaxAnnouncementBytes - 600);
}

TEST(AnnouncementCodec, NothingIsNoMessage) {
    EXPECT_TRUE(encode_announcements("eu", {}).empty());
}

TEST(AnnouncementCodec, AGreetingHoldsNoCounts) {
    const auto decoded = decode_announcement(encode_greeting("eu"));
    EXPECT_EQ(std::get<BusMessage>(decoded).region, "eu");
    EXPECT_TRUE(std::get<BusMessage>(decoded).counts.empty());
}

TEST(AnnouncementCodec, AnotherVersionIsForeign) {
    std::string bytes = kMessage;
    bytes[2] = 2;
    const auto decoded = decode_announcement(bytes);
    EXPECT_EQ(std::get<AnnouncementFault>(decoded), AnnouncementFault::kForeignVersion);
}

TEST(AnnouncementCodec, WhatIsCutOrContinuedIsMalformed) {
    for (std::size_t size = 0; size < kMessage.size(); ++size)
        EXPECT_TRUE(is_malformed(kMessage.substr(0, size))) << size;
    EXPECT_FALSE(is_malformed(kMessage));
    EXPECT_TRUE(is_malformed(kMessage + '\0'));
    EXPECT_TRUE(is_malformed("XL" + kMessage.substr(2)));
}

// A message with one count, of which each part can be replaced.
struct Parts {
    std::string region =
        "\x02"
        "eu";
    std::string counts = "\x01";
    std::string workspace = "\x00\x01w"s;
    std::string name_space = "\x00\x01n"s;
    std::string identifier = "\x00\x01i"s;
    std::string duration = "\xe0\xd4\x03";
    std::string sequence = "\xac\x02";
    std::string component = "\x05";

    std::string bytes() const {
        return "SL\x01" + region + counts + workspace + name_space + identifier + duration +
               sequence + component;
    }
};

TEST(AnnouncementCodec, EachPartHasItsRange) {
    EXPECT_FALSE(is_malformed(Parts{}.bytes()));
    EXPECT_TRUE(is_malformed(Parts{.region = "\x00"s}.bytes()));
    EXPECT_TRUE(is_malformed(Parts{.region = "\x31" + std::string(49, 'r')}.bytes()));
    EXPECT_TRUE(is_malformed(Parts{.counts = "\x81\x04"}.bytes())) << "513 of them";
    EXPECT_TRUE(is_malformed(Parts{.workspace = "\x00\x00"s}.bytes()));
    EXPECT_TRUE(is_malformed(Parts{.workspace = "\x01\x00"s}.bytes())) << "nothing to share";
    EXPECT_FALSE(is_malformed(Parts{.workspace = "\x00\xc0\x01"s + std::string(192, 'w')}.bytes()));
    EXPECT_TRUE(is_malformed(Parts{.workspace = "\x00\xc1\x01"s + std::string(193, 'w')}.bytes()));
    EXPECT_TRUE(is_malformed(Parts{.name_space = "\x00\x00"s}.bytes()));
    EXPECT_TRUE(is_malformed(Parts{.name_space = "\x00\x81\x02"s + std::string(257, 'n')}.bytes()));
    EXPECT_TRUE(is_malformed(Parts{.identifier = "\x00\x00"s}.bytes()));
    EXPECT_FALSE(
        is_malformed(Parts{.identifier = "\x00\x80\x02"s + std::string(256, 'i')}.bytes()));
    EXPECT_TRUE(is_malformed(Parts{.duration = "\xe7\x07"}.bytes())) << "999 ms";
    EXPECT_FALSE(is_malformed(Parts{.duration = "\xe8\x07"}.bytes())) << "1,000 ms";
    EXPECT_TRUE(is_malformed(Parts{.duration = "\xff\xff\xff\xff\x7f"}.bytes()));
    EXPECT_TRUE(is_malformed(Parts{.sequence = "\xff\xff\xff\xff\xff\xff\xff\x0f"}.bytes()));
    EXPECT_FALSE(is_malformed(Parts{.component = "\xff\xff\xff\xff\xff\xff\xff\x0f"}.bytes()));
    EXPECT_TRUE(is_malformed(Parts{.component = "\x80\x80\x80\x80\x80\x80\x80\x10"}.bytes()));
    EXPECT_TRUE(is_malformed(Parts{.component = "\x85\x00"s}.bytes())) << "not minimal";
    EXPECT_TRUE(is_malformed(Parts{.component = std::string(10, '\xff') + "\x01"}.bytes()));
}

TEST(AnnouncementCodec, ASharedBeginningCantMakeANameTooLong) {
    std::string bytes =
        Parts{.counts = "\x02", .workspace = "\x00\xc0\x01"s + std::string(192, 'w')}.bytes();
    const std::string rest = "\x01\x00\x01\x00\xe0\xd4\x03\x01\x01"s;
    EXPECT_FALSE(is_malformed(bytes + "\xc0\x01\x00"s + rest));
    EXPECT_TRUE(is_malformed(bytes + "\xc0\x01\x01w"s + rest));
}

TEST(AnnouncementCodec, AMessageThatIsTooLongIsMalformed) {
    std::string bytes =
        "SL\x01\x02"
        "eu";
    bytes.resize(kMaxAnnouncementBytes + 1, '\x01');
    EXPECT_TRUE(is_malformed(bytes));
}

}  // namespace
}  // namespace sluice
