#include "rls/messages.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include "rls/request_encoder.h"

namespace sluice::rls {
namespace {

using namespace std::chrono_literals;

std::string from_hex(std::string_view digits) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
    return bytes;
}

// Both were encoded by protoc.
constexpr std::string_view kRequest =
    "0a096d6573736167696e6712360a190a0c6d6573736167655f7479706512096d61726b6574696e670a170a09746f5f"
    "6e756d626572120a323036313233343536371a00121f0a080a0674656e616e741204082a10071a0b08fdffffffffff"
    "ffffff0120011807";
constexpr std::string_view kResponse =
    "08021208080118ffffffff0f12120802120a080510021a0466697665220208251a140a0f526174654c696d69742d4c"
    "696d697412013522060a016112016232430a150a06646f6d61696e120b1a096d6573736167696e670a2a0a046c6973"
    "74122232200a0911000000000000f83f0a0220000a0208000a0b2a090a070a017812022001";

TEST(RequestDecoder, ReadsEveryField) {
    const std::string bytes = from_hex(kRequest);
    RateLimitRequest request;
    ASSERT_FALSE(decode(bytes, request));

    EXPECT_EQ(request.domain, "messaging");
    EXPECT_EQ(request.hits_addend, 7U);
    ASSERT_EQ(request.descriptors.size(), 2U);
    const Descriptor& first = request.descriptors[0];
    ASSERT_EQ(request.entries_of(first).size(), 2U);
    EXPECT_EQ(request.entries_of(first)[0], (DescriptorEntry{"message_type", "marketing"}));
    EXPECT_EQ(request.entries_of(first)[1], (DescriptorEntry{"to_number", "2061234567"}));
    EXPECT_FALSE(first.limit);
    EXPECT_EQ(first.hits_addend, 0U) << "present, although it is the default";
    const Descriptor& second = request.descriptors[1];
    ASSERT_EQ(request.entries_of(second).size(), 1U);
    EXPECT_EQ(request.entries_of(second)[0], (DescriptorEntry{"tenant", ""}));
    EXPECT_EQ(second.limit, (LimitOverride{42, Unit::kWeek}));
    EXPECT_EQ(second.hits_addend, 18'446'744'073'709'551'613U);
    EXPECT_TRUE(second.is_negative_hits);
}

TEST(RequestDecoder, AnEmptyMessageIsARequestWithoutDomain) {
    RateLimitRequest request;
    request.domain = "left over";
    request.descriptors.resize(2);
    ASSERT_FALSE(decode("", request));
    EXPECT_EQ(request, RateLimitRequest{});
}

TEST(RequestDecoder, SkipsUnknownFieldsAndOtherWireTypes) {
    std::string bytes;
    protozero::pbf_writer out(bytes);
    out.add_string(99, "future");
    out.add_uint32(1, 5);  // a domain that is no text
    out.add_string(1, "web");
    out.add_fixed64(3, 9);
    RateLimitRequest request;
    ASSERT_FALSE(decode(bytes, request));
    EXPECT_EQ(request.domain, "web");
    EXPECT_EQ(request.hits_addend, 0U);
}

TEST(RequestDecoder, MergesAMessageThatOccursTwice) {
    std::string bytes;
    {
        protozero::pbf_writer out(bytes);
        protozero::pbf_writer descriptor(out, 2);
        protozero::pbf_writer(descriptor, 2).add_uint32(1, 10);
        protozero::pbf_writer(descriptor, 2).add_uint32(2, 1);
    }
    RateLimitRequest request;
    ASSERT_FALSE(decode(bytes, request));
    EXPECT_EQ(request.descriptors.at(0).limit, (LimitOverride{10, Unit::kSecond}));
}

TEST(RequestDecoder, RefusesEveryPrefixThatCutsAField) {
    const std::string bytes = from_hex(kRequest);
    RateLimitRequest request;
    std::size_t refused = 0;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const auto error = decode(std::string_view(bytes).substr(0, size), request);
        if (!error) continue;
        ++refused;
        EXPECT_EQ(error->code, kInvalidRequest);
        EXPECT_NE(error->message.find("RateLimitRequest: "), std::string::npos) << error->message;
    }
    EXPECT_EQ(refused, bytes.size() - 4) << "valid: nothing, and one to three whole fields";
}

TEST(RequestDecoder, BoundsCountsAndBytes) {
    RateLimitRequest request;
    request.descriptors.resize(kMaxDescriptors);
    RateLimitRequest decoded;
    EXPECT_FALSE(decode(encode_request(request), decoded));
    EXPECT_EQ(decoded.descriptors.size(), kMaxDescriptors);
    request.descriptors.resize(kMaxDescriptors + 1);
    auto error = decode(encode_request(request), decoded);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message, "descriptors has more items; allowed: up to 100");

    request.descriptors.resize(1);
    request.entries.resize(kMaxEntriesPerDescriptor + 1);
    request.descriptors[0].entry_count = kMaxEntriesPerDescriptor;
    EXPECT_FALSE(decode(encode_request(request), decoded));
    request.descriptors[0].entry_count = kMaxEntriesPerDescriptor + 1;
    error = decode(encode_request(request), decoded);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message, "descriptors[0].entries has more items; allowed: up to 64");

    error = decode(std::string(kMaxRequestBytes + 1, '\0'), decoded);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message, "the request is 262145 bytes long; allowed: up to 262144");
}

TEST(ResponseEncoder, WritesWhatProtocWrites) {
    const MetadataValue nested{MetadataFields{{"x", {true}}}};
    const RateLimitResponse response{
        .overall_code = Code::kOverLimit,
        .statuses = {{.limit_remaining = 4'294'967'295U},
                     {.code = Code::kOverLimit,
                      .current_limit =
                          CurrentLimit{
                              .requests_per_unit = 5, .unit = Unit::kMinute, .name = "five"},
                      .duration_until_reset = 37s}},
        .response_headers_to_add = {{"RateLimit-Limit", "5"}},
        .request_headers_to_add = {{"a", "b"}},
        .dynamic_metadata =
            MetadataFields{{"domain", {std::string("messaging")}},
                           {"list", {MetadataValue::List{{1.5}, {false}, {nullptr}, nested}}}}};
    std::string bytes;
    encode(response, bytes);
    EXPECT_EQ(bytes, from_hex(kResponse));
}

TEST(ResponseEncoder, AppendsAndLeavesOutDefaults) {
    std::string bytes = "x";
    encode({.overall_code = Code::kOk,
            .statuses = {{.current_limit = CurrentLimit{}, .duration_until_reset = 0s}}},
           bytes);
    EXPECT_EQ(bytes, "x" + from_hex("08011206080112002200"));
}

TEST(Units, HaveLengthsAndNames) {
    EXPECT_EQ(duration_of(Unit::kMonth), 30 * 24h);
    EXPECT_EQ(duration_of(Unit::kYear), 365 * 24h);
    EXPECT_EQ(duration_of(Unit::kWeek), 7 * 24h);
    EXPECT_EQ(duration_of(Unit::kUnknown), std::nullopt);
    EXPECT_EQ(duration_of(Unit{8}), std::nullopt);
    EXPECT_EQ(unit_of(60s), Unit::kMinute);
    EXPECT_EQ(unit_of(61s), Unit::kUnknown);
    EXPECT_EQ(unit_named("Hour"), Unit::kHour);
    EXPECT_EQ(unit_named("fortnight"), Unit::kUnknown);
    EXPECT_EQ(name_of(Unit::kDay), "DAY");
}

TEST(Metadata, MergesStructsAndKeepsOtherValues) {
    MetadataFields into{{"a", {1.0}}, {"s", {MetadataFields{{"x", {1.0}}}}}};
    merge({{"a", {2.0}}, {"s", {MetadataFields{{"x", {9.0}}, {"y", {2.0}}}}}, {"b", {true}}}, into);
    std::string json;
    append_json(json, into);
    EXPECT_EQ(json, R"({"a":1,"s":{"x":1,"y":2},"b":true})");
}

TEST(Metadata, KeepsEmptyListsAndStructsInProtobuf) {
    std::string bytes;
    append_protobuf(bytes, {{"l", {MetadataValue::List{}}}, {"s", {MetadataFields{}}}});
    EXPECT_EQ(bytes, from_hex("0a070a016c120232000a070a017312022a00"));
}

TEST(Metadata, IsWrittenAsJson) {
    std::string json;
    append_json(json,
                {{"q\"", {MetadataValue::List{}}}, {"n", {nullptr}}, {"o", {MetadataFields{}}}});
    EXPECT_EQ(json, R"({"q\"":[],"n":null,"o":{}})");
}

}  // namespace
}  // namespace sluice::rls
