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
    std::vector<std::string> values;
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
    Discovery discovery{{.node_id = "node-1", .type_url = kType},
                        [this](std::span<const std::string_view> resources) {
                            if (!refusal) applied.assign(resources.begin(), resources.end());
                            return refusal;
                        }};
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
    EXPECT_TRUE(applied.empty());
}

TEST_F(DiscoveryTest, EndsAtAMalformedResponse) {
    EXPECT_EQ(discovery.on_response("\x0a\x05x"), std::nullopt);
    EXPECT_TRUE(discovery.on_response("\x08\x05\x10\x05")) << "fields of other types are unknown";
    EXPECT_EQ(discovery.version(), "");
    EXPECT_EQ(discovery.on_response("\x12\x03\x0a\x05x"), std::nullopt);
}

}  // namespace
}  // namespace sluice::grpc
