#include "grpc/client/discovery.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace sluice::grpc {
namespace {

using namespace std::string_literals;

constexpr const char* kType = "type.googleapis.com/test.Rules";

// The last text of field `tag`; "" if there is none.
std::string text(const std::string& bytes, protozero::pbf_tag_type tag) {
    std::string found;
    protozero::pbf_reader reader(bytes);
    while (reader.next(tag))
        found = reader.get_string();
    return found;
}

struct TestResources {
    std::string version;
    std::string nonce;
    std::vector<std::string> values{};
    std::string type = kType;
    std::string resource_type = kType;
};

std::string encode(const TestResources& resources) {
    std::string bytes;
    protozero::pbf_writer response(bytes);
    response.add_string(1, resources.version);
    for (const std::string& value : resources.values) {
        protozero::pbf_writer any(response, 2);
        any.add_string(1, resources.resource_type);
        any.add_bytes(2, value);
    }
    response.add_string(4, resources.type);
    response.add_string(5, resources.nonce);
    return bytes;
}

class DiscoveryTest : public testing::Test {
  protected:
    std::vector<std::string> applied;
    std::optional<std::string> refusal;
    std::string invalid;
    Discovery discovery{{.node_id = "node-1", .type_url = kType},
                        {.apply =
                             [this](std::span<const std::string_view> resources) {
                                 if (!refusal) applied.assign(resources.begin(), resources.end());
                                 return refusal;
                             },
                         .on_invalid = [this](const std::string& why) { invalid = why; }}};
};

TEST_F(DiscoveryTest, AsksWithItsNodeAndType) {
    const std::string request = discovery.start();
    EXPECT_EQ(text(request, 1), "");
    EXPECT_EQ(text(text(request, 2), 1), "node-1");
    EXPECT_EQ(text(request, 4), kType);
    EXPECT_EQ(text(request, 5), "");
}

TEST_F(DiscoveryTest, AcceptsResources) {
    const auto answer =
        discovery.on_response(encode({.version = "v1", .nonce = "n1", .values = {"a", "b"}}));
    ASSERT_TRUE(answer);
    EXPECT_EQ(applied, (std::vector{"a"s, "b"s}));
    EXPECT_EQ(text(*answer, 1), "v1");
    EXPECT_EQ(text(*answer, 5), "n1");
    EXPECT_EQ(text(*answer, 6), "");
    // A new stream names the version in force, without a nonce.
    EXPECT_EQ(text(discovery.start(), 1), "v1");
    EXPECT_EQ(text(discovery.start(), 5), "");
}

TEST_F(DiscoveryTest, RefusesResourcesWithTheVersionInForce) {
    discovery.on_response(encode({.version = "v1", .nonce = "n1", .values = {"a"}}));
    refusal = "line 3 is wrong";
    const auto answer =
        discovery.on_response(encode({.version = "v2", .nonce = "n2", .values = {"b"}}));
    ASSERT_TRUE(answer);
    EXPECT_EQ(text(*answer, 1), "v1");
    EXPECT_EQ(text(*answer, 5), "n2");
    EXPECT_EQ(text(text(*answer, 6), 2), "line 3 is wrong");
    EXPECT_EQ(discovery.version(), "v1");
    EXPECT_EQ(applied, std::vector{"a"s});
}

TEST_F(DiscoveryTest, RefusesOtherTypes) {
    const auto response = discovery.on_response(
        encode({.version = "v1", .nonce = "n1", .values = {"a"}, .type = "other"}));
    const auto resource = discovery.on_response(
        encode({.version = "v1", .nonce = "n2", .values = {"a"}, .resource_type = "other"}));
    for (const auto& answer : {response, resource}) {
        ASSERT_TRUE(answer);
        EXPECT_EQ(text(*answer, 1), "");
        EXPECT_NE(text(text(*answer, 6), 2).find("the type other"), std::string::npos);
    }
    EXPECT_NE(invalid.find("the type other"), std::string::npos);
    EXPECT_TRUE(applied.empty());
}

TEST_F(DiscoveryTest, RefusesTooManyResources) {
    const std::vector<std::string> values(10'001);
    const auto answer =
        discovery.on_response(encode({.version = "v", .nonce = "n", .values = values}));
    ASSERT_TRUE(answer);
    EXPECT_NE(text(text(*answer, 6), 2).find("allowed are 10000"), std::string::npos);
    EXPECT_EQ(discovery.version(), "");
}

TEST_F(DiscoveryTest, RefusesALongVersionAndANonceThatItCanNotSendBack) {
    const std::string text_of_5000(5'000, 'x');
    for (const auto& [version, nonce] : {std::pair{text_of_5000, "n"s}, {"v"s, text_of_5000}}) {
        const auto answer = discovery.on_response(encode({.version = version, .nonce = nonce}));
        ASSERT_TRUE(answer);
        EXPECT_NE(text(text(*answer, 6), 2).find("is longer"), std::string::npos);
        EXPECT_LE(answer->size(), 6'000U);
        EXPECT_EQ(discovery.version(), "");
    }
}

// A server could not decode the request otherwise.
TEST_F(DiscoveryTest, SendsErrorsAsUtf8) {
    refusal = "key '\xff' is wrong";
    const auto answer = discovery.on_response(encode({.version = "v", .nonce = "n"}));
    EXPECT_EQ(text(text(*answer, 6), 2), "key '%FF' is wrong");
}

TEST_F(DiscoveryTest, NamesTheClusterOfItsNode) {
    Discovery clustered{{.node_id = "n", .cluster = "c", .type_url = kType},
                        {.apply = [](auto) { return std::nullopt; }}};
    EXPECT_EQ(text(text(clustered.start(), 2), 2), "c");
    EXPECT_EQ(text(text(discovery.start(), 2), 2), "");
}

TEST_F(DiscoveryTest, EndsAtAMalformedResponse) {
    EXPECT_EQ(discovery.on_response("\x0a\x05x"), std::nullopt);
    EXPECT_NE(invalid.find("the response is malformed"), std::string::npos);
    EXPECT_TRUE(discovery.on_response("\x08\x05\x10\x05")) << "fields of other types are unknown";
    EXPECT_EQ(discovery.version(), "");
    EXPECT_EQ(discovery.on_response("\x12\x03\x0a\x05x"), std::nullopt);
}

}  // namespace
}  // namespace sluice::grpc
