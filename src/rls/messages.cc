#include "rls/messages.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace sluice::rls {
namespace {

using protozero::pbf_wire_type;
using protozero::tag_and_type;

struct UnitName {
    Unit unit;
    std::string_view name;
    std::chrono::seconds length;
};
constexpr std::chrono::hours kDay{24};
constexpr std::array<UnitName, 7> kUnits = {{{Unit::kSecond, "SECOND", std::chrono::seconds{1}},
                                             {Unit::kMinute, "MINUTE", std::chrono::minutes{1}},
                                             {Unit::kHour, "HOUR", std::chrono::hours{1}},
                                             {Unit::kDay, "DAY", kDay},
                                             {Unit::kWeek, "WEEK", 7 * kDay},
                                             {Unit::kMonth, "MONTH", 30 * kDay},
                                             {Unit::kYear, "YEAR", 365 * kDay}}};

std::string_view text_of(protozero::pbf_reader& reader) {
    const protozero::data_view view = reader.get_view();
    return {view.data(), view.size()};
}

Error refused(std::string what) {
    return {kInvalidRequest, std::move(what)};
}

Error too_many(const std::string& what, std::size_t allowed) {
    return refused(what + "; allowed: up to " + std::to_string(allowed));
}

DescriptorEntry read_entry(protozero::pbf_reader reader) {
    DescriptorEntry entry;
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case tag_and_type(1, pbf_wire_type::length_delimited):
                entry.key = text_of(reader);
                break;
            case tag_and_type(2, pbf_wire_type::length_delimited):
                entry.value = text_of(reader);
                break;
            default:
                reader.skip();
        }
    }
    return entry;
}

// A field that occurs again is merged with what it held, as protobuf requires of messages.
void read_limit(protozero::pbf_reader reader, LimitOverride& limit) {
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case tag_and_type(1, pbf_wire_type::varint):
                limit.requests_per_unit = reader.get_uint32();
                break;
            case tag_and_type(2, pbf_wire_type::varint):
                limit.unit = static_cast<Unit>(reader.get_uint32());
                break;
            default:
                reader.skip();
        }
    }
}

// google.protobuf.UInt64Value.
void read_wrapped(protozero::pbf_reader reader, std::uint64_t& value) {
    while (reader.next()) {
        if (reader.tag_and_type() == tag_and_type(1, pbf_wire_type::varint)) {
            value = reader.get_uint64();
        } else {
            reader.skip();
        }
    }
}

template <class T>
T& present(std::optional<T>& field) {
    return field ? *field : field.emplace();
}

std::optional<Error> read_descriptor(protozero::pbf_reader reader, RateLimitRequest& request) {
    const std::size_t index = request.descriptors.size();
    if (index == kMaxDescriptors) return too_many("descriptors has more items", kMaxDescriptors);
    Descriptor& descriptor = request.descriptors.emplace_back();
    descriptor.first_entry = request.entries.size();
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case tag_and_type(1, pbf_wire_type::length_delimited):
                if (descriptor.entry_count == kMaxEntriesPerDescriptor) {
                    return too_many(
                        "descriptors[" + std::to_string(index) + "].entries has more items",
                        kMaxEntriesPerDescriptor);
                }
                request.entries.push_back(read_entry(reader.get_message()));
                ++descriptor.entry_count;
                break;
            case tag_and_type(2, pbf_wire_type::length_delimited):
                read_limit(reader.get_message(), present(descriptor.limit));
                break;
            case tag_and_type(3, pbf_wire_type::length_delimited):
                read_wrapped(reader.get_message(), present(descriptor.hits_addend));
                break;
            case tag_and_type(4, pbf_wire_type::varint):
                // get_bool() reads a byte beyond the end of a message that ends there.
                descriptor.is_negative_hits = reader.get_uint64() != 0;
                break;
            default:
                reader.skip();
        }
    }
    return std::nullopt;
}

std::optional<Error> read_request(protozero::pbf_reader reader, RateLimitRequest& request) {
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case tag_and_type(1, pbf_wire_type::length_delimited):
                request.domain = text_of(reader);
                break;
            case tag_and_type(2, pbf_wire_type::length_delimited):
                if (auto error = read_descriptor(reader.get_message(), request)) return error;
                break;
            case tag_and_type(3, pbf_wire_type::varint):
                request.hits_addend = reader.get_uint32();
                break;
            default:
                reader.skip();
        }
    }
    return std::nullopt;
}

// Fields with their default value are left out, as proto3 does.
template <class Number>
void add_number(protozero::pbf_writer& out, protozero::pbf_tag_type tag, Number number) {
    const auto value = static_cast<std::uint32_t>(number);
    if (value != 0) out.add_uint32(tag, value);
}

void add_text(protozero::pbf_writer& out, protozero::pbf_tag_type tag, const std::string& text) {
    if (!text.empty()) out.add_string(tag, text);
}

void write_status(protozero::pbf_writer& out, const DescriptorStatus& status) {
    add_number(out, 1, status.code);
    // protozero leaves out a message without fields.
    if (status.current_limit == CurrentLimit{}) {
        out.add_message(2, "", 0);
    } else if (status.current_limit) {
        protozero::pbf_writer limit(out, 2);
        add_number(limit, 1, status.current_limit->requests_per_unit);
        add_number(limit, 2, status.current_limit->unit);
        add_text(limit, 3, status.current_limit->name);
    }
    add_number(out, 3, status.limit_remaining);
    if (status.duration_until_reset == std::chrono::seconds{0}) {
        out.add_message(4, "", 0);
    } else if (status.duration_until_reset) {
        protozero::pbf_writer duration(out, 4);
        duration.add_int64(1, status.duration_until_reset->count());
    }
}

void write_headers(protozero::pbf_writer& out,
                   protozero::pbf_tag_type tag,
                   const std::vector<HeaderValue>& headers) {
    for (const HeaderValue& header : headers) {
        protozero::pbf_writer nested(out, tag);
        add_text(nested, 1, header.key);
        add_text(nested, 2, header.value);
    }
}

}  // namespace

std::optional<std::chrono::seconds> duration_of(Unit unit) {
    const auto* const found = std::ranges::find(kUnits, unit, &UnitName::unit);
    if (found == kUnits.end()) return std::nullopt;
    return found->length;
}

Unit unit_of(std::chrono::milliseconds duration) {
    const auto* const found = std::ranges::find(kUnits, duration, &UnitName::length);
    return found == kUnits.end() ? Unit::kUnknown : found->unit;
}

std::string_view name_of(Unit unit) {
    const auto* const found = std::ranges::find(kUnits, unit, &UnitName::unit);
    return found == kUnits.end() ? "UNKNOWN" : found->name;
}

Unit unit_named(std::string_view name) {
    std::string upper(name);
    std::ranges::transform(upper, upper.begin(), [](unsigned char letter) {
        return static_cast<char>(std::toupper(letter));
    });
    const auto* const found = std::ranges::find(kUnits, upper, &UnitName::name);
    return found == kUnits.end() ? Unit::kUnknown : found->unit;
}

void RateLimitRequest::clear() {
    domain = {};
    descriptors.clear();
    entries.clear();
    hits_addend = 0;
}

void RateLimitResponse::clear() {
    overall_code = Code::kUnknown;
    statuses.clear();
    response_headers_to_add.clear();
    request_headers_to_add.clear();
    dynamic_metadata.reset();
}

std::optional<Error> decode(std::string_view bytes, RateLimitRequest& request) try {
    request.clear();
    if (bytes.size() > kMaxRequestBytes) {
        return too_many("the request is " + std::to_string(bytes.size()) + " bytes long",
                        kMaxRequestBytes);
    }
    return read_request(protozero::pbf_reader(bytes.data(), bytes.size()), request);
} catch (const protozero::exception& malformed) {
    return refused(
        std::string("the request is not an envoy.service.ratelimit.v3.RateLimitRequest: ") +
        malformed.what());
}

void encode(const RateLimitResponse& response, std::string& out) {
    protozero::pbf_writer writer(out);
    add_number(writer, 1, response.overall_code);
    for (const DescriptorStatus& status : response.statuses) {
        protozero::pbf_writer nested(writer, 2);
        write_status(nested, status);
    }
    write_headers(writer, 3, response.response_headers_to_add);
    write_headers(writer, 4, response.request_headers_to_add);
    if (response.dynamic_metadata) {
        std::string fields;
        append_protobuf(fields, *response.dynamic_metadata);
        writer.add_message(6, fields);
    }
}

}  // namespace sluice::rls
