#include "rls/identifier.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::rls {
namespace {

std::string identifier_of(const std::vector<DescriptorEntry>& entries) {
    std::string identifier;
    for (const DescriptorEntry& entry : entries)
        append_entry(identifier, entry);
    finish_identifier(identifier);
    return identifier;
}

TEST(Identifier, IsReadable) {
    EXPECT_EQ(identifier_of({{"remote_address", "10.0.0.1"}, {"path", "/login"}}),
              "remote_address=10.0.0.1,path=/login");
    EXPECT_EQ(identifier_of({{"tenant", ""}}), "tenant=");
}

TEST(Identifier, EscapesWhatSeparates) {
    EXPECT_EQ(identifier_of({{"a,b", "c=d%*"}}), "a%2cb=c%3dd%25%2a");
    EXPECT_EQ(identifier_of({{"k", std::string_view("\0\n\x7f\xc3\xa9", 5)}}), "k=%00%0a%7f%c3%a9");
}

// All descriptors of up to two entries whose texts consist of up to two of the special bytes.
TEST(Identifier, DiffersForDifferentDescriptors) {
    std::vector<std::string> texts = {""};
    const std::string alphabet = "%,=*_2c\xff";
    for (const char first : alphabet) {
        texts.emplace_back(1, first);
        for (const char second : alphabet)
            texts.push_back({first, second});
    }
    std::set<std::string> seen;
    std::size_t count = 0;
    for (const std::string& key : texts) {
        for (const std::string& value : texts) {
            seen.insert(identifier_of({{key, value}}));
            seen.insert(identifier_of({{key, value}, {value, key}}));
            seen.insert(identifier_of({{key, value}, {"", ""}}));
            count += key.empty() && value.empty() ? 2U : 3U;
        }
    }
    EXPECT_EQ(seen.size(), count);
}

TEST(Identifier, OfASharedValueIsNoOtherIdentifier) {
    std::string shared;
    append_shared_entry(shared, "path", "/files*");
    EXPECT_EQ(shared, "path=/files*");
    EXPECT_NE(shared, identifier_of({{"path", "/files*"}}));
}

TEST(Identifier, IsShortenedByDigestBeyond512Bytes) {
    const std::string fits = identifier_of({{"k", std::string(510, 'x')}});
    EXPECT_EQ(fits.size(), 512U);
    EXPECT_EQ(fits.find("%~"), std::string::npos);

    const std::string first = identifier_of({{"k", std::string(4'000, 'x')}});
    const std::string second = identifier_of({{"k", std::string(3'999, 'x') + "y"}});
    EXPECT_EQ(first.size(), 466U);
    EXPECT_EQ(first.substr(0, 402), "k=" + std::string(398, 'x') + "%~");
    EXPECT_NE(first, second);
    EXPECT_EQ(first, identifier_of({{"k", std::string(4'000, 'x')}}));
    EXPECT_LE(first.capacity(), 2 * kMaxIdentifierBytes) << "the long text is not kept";
}

}  // namespace
}  // namespace sluice::rls
