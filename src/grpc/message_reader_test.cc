#include "grpc/message_reader.h"

#include <string>

#include <gtest/gtest.h>

#include "grpc/frame_budget.h"
#include "grpc/header_values.h"

namespace sluice::grpc {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using Outcome = MessageReader::Outcome;

TEST(MessageReader, FindsMessagesHoweverTheyAreCut) {
    std::string bytes;
    append_message("first", bytes);
    append_message("", bytes);
    append_message(std::string(300, 'x'), bytes);
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        MessageReader reader;
        std::string found;
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
            std::string_view part = std::string_view(bytes).substr(at, piece);
            while (!part.empty()) {
                if (reader.read(part, 300) == Outcome::kMessage) (found += reader.message()) += '|';
            }
        }
        EXPECT_EQ(found, "first||" + std::string(300, 'x') + "|") << "pieces of " << piece;
        EXPECT_FALSE(reader.is_partial());
    }
}

TEST(MessageReader, RefusesFlagsAndSizes) {
    const auto outcome = [](std::string_view bytes) { return MessageReader().read(bytes, 10); };
    EXPECT_EQ(outcome("\0\0\0\0\xb"s), Outcome::kTooLarge);
    EXPECT_EQ(outcome("\0\xff\xff\xff\xff"s), Outcome::kTooLarge);
    EXPECT_EQ(outcome("\0\0\0\0\xa"s), Outcome::kNeedMore);
    EXPECT_EQ(outcome("\1\0\0\0\1x"s), Outcome::kCompressed);
    EXPECT_EQ(outcome("\2\0\0\0\1x"s), Outcome::kInvalid);
}

TEST(HeaderValues, ParseTimeouts) {
    EXPECT_EQ(parse_timeout("20m"), 20ms);
    EXPECT_EQ(parse_timeout("1H"), 1h);
    EXPECT_EQ(parse_timeout("2M"), 2min);
    EXPECT_EQ(parse_timeout("3S"), 3s);
    EXPECT_EQ(parse_timeout("4u"), 4us);
    EXPECT_EQ(parse_timeout("99999999n"), 99'999'999ns);
    EXPECT_EQ(parse_timeout("99999999H"), 24h * 365);
    for (const char* text : {"", "m", "20", "20x", "-1m", "+1m", "1 m", "123456789m", "1.5S"})
        EXPECT_EQ(parse_timeout(text), std::nullopt) << text;
}

TEST(HeaderValues, AcceptContentTypesOfGrpc) {
    for (const char* text : {"application/grpc", "application/grpc+proto", "application/grpc;a=b"})
        EXPECT_TRUE(is_grpc_content_type(text)) << text;
    for (const char* text : {"", "application/grpc-web", "application/grpc+json", "text/plain"})
        EXPECT_FALSE(is_grpc_content_type(text)) << text;
}

TEST(HeaderValues, EncodeAndDecodeMessages) {
    const std::string text = "100 % of \x01\x7f ä~\n";
    EXPECT_EQ(percent_encode(text), "100 %25 of %01%7F %C3%A4~%0A");
    EXPECT_EQ(percent_decode(percent_encode(text)), text);
    EXPECT_EQ(percent_decode("%zz%4%"), "%zz%4%");
    EXPECT_EQ(percent_encode(std::string(5'000, 'x')).size(), 1'024U);
}

TEST(FrameBudget, AllowsABurstAndARate) {
    FrameBudget budget({.burst = 3, .per_second = 2});
    FrameBudget::Time now{1h};
    budget.refill(now);
    const auto spend_all = [&] {
        int count = 0;
        while (budget.spend())
            ++count;
        budget.add(1);  // the one that failed
        return count;
    };
    EXPECT_EQ(spend_all(), 3);
    budget.refill(now + 999ms);
    EXPECT_EQ(spend_all(), 0);
    budget.refill(now + 1s);
    EXPECT_EQ(spend_all(), 2);
    budget.refill(now + 100h);
    EXPECT_EQ(spend_all(), 3);
}

TEST(MessageReader, CountsTheMemoryThatALongMessageHasLeft) {
    MessageReader reader;
    EXPECT_EQ(reader.held_bytes(), 0U);
    std::string bytes;
    append_message(std::string(100'000, 'x'), bytes);
    bytes += '\0';
    std::string_view rest = bytes;
    EXPECT_EQ(reader.read(rest, 1'000'000), MessageReader::Outcome::kMessage);
    EXPECT_EQ(reader.read(rest, 1'000'000), MessageReader::Outcome::kNeedMore);
    EXPECT_GT(reader.held_bytes(), 100'000U);
    reader.reset(1'000);
    EXPECT_EQ(reader.held_bytes(), 0U);
}

}  // namespace
}  // namespace sluice::grpc
