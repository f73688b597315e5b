// The messages of Envoy's rate-limit service, version 3, and their protobuf encoding.
#ifndef SLUICE_RLS_MESSAGES_H_
#define SLUICE_RLS_MESSAGES_H_

#include <sluice/result.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rls/metadata.h"

namespace sluice::rls {

// Bounds on a request. The number of descriptors is that of a batch.
inline constexpr std::size_t kMaxRequestBytes = 262'144;
inline constexpr std::size_t kMaxDescriptors = 100;
inline constexpr std::size_t kMaxEntriesPerDescriptor = 64;

// Units of time, with the numbers of both of Envoy's enumerations. Other numbers may occur in a
// request.
enum class Unit : std::uint32_t {
    kUnknown = 0,
    kSecond = 1,
    kMinute = 2,
    kHour = 3,
    kDay = 4,
    kMonth = 5,
    kYear = 6,
    kWeek = 7,
};

// The length of a unit: a month has 30 days, a year 365. None for kUnknown and other numbers.
std::optional<std::chrono::seconds> duration_of(Unit unit);
// The unit of this length; kUnknown if there is none.
Unit unit_of(std::chrono::milliseconds duration);
// "SECOND"; "UNKNOWN" where there is no such unit.
std::string_view name_of(Unit unit);
// The unit of that name, in upper or lower case; kUnknown if there is none.
Unit unit_named(std::string_view name);

// One key and its value. Any bytes.
struct DescriptorEntry {
    std::string_view key;
    std::string_view value;

    bool operator==(const DescriptorEntry&) const = default;
};

// A limit that the client sends along.
struct LimitOverride {
    std::uint32_t requests_per_unit = 0;
    Unit unit = Unit::kUnknown;

    bool operator==(const LimitOverride&) const = default;
};

struct Descriptor {
    std::size_t first_entry = 0;  // see RateLimitRequest::entries_of()
    std::size_t entry_count = 0;
    std::optional<LimitOverride> limit = {};
    std::optional<std::uint64_t> hits_addend = {};
    bool is_negative_hits = false;

    bool operator==(const Descriptor&) const = default;
};

// A decoded request. Its texts lie in the bytes that were decoded, which must outlive it. One
// object can serve one request after the other, and keeps its memory.
//
// Thread-compatible.
struct RateLimitRequest {
    std::string_view domain;
    std::vector<Descriptor> descriptors;
    std::vector<DescriptorEntry> entries;  // of all descriptors, one after the other
    std::uint32_t hits_addend = 0;         // 0: not given

    std::span<const DescriptorEntry> entries_of(const Descriptor& descriptor) const {
        return std::span(entries).subspan(descriptor.first_entry, descriptor.entry_count);
    }
    void clear();

    bool operator==(const RateLimitRequest&) const = default;
};

enum class Code : std::uint32_t { kUnknown = 0, kOk = 1, kOverLimit = 2 };

struct CurrentLimit {
    std::uint32_t requests_per_unit = 0;
    Unit unit = Unit::kUnknown;  // kUnknown: of a length that Envoy has no name for
    std::string name = {};

    bool operator==(const CurrentLimit&) const = default;
};

struct DescriptorStatus {
    Code code = Code::kOk;
    std::optional<CurrentLimit> current_limit = {};
    std::uint32_t limit_remaining = 0;
    std::optional<std::chrono::seconds> duration_until_reset = {};

    bool operator==(const DescriptorStatus&) const = default;
};

struct HeaderValue {
    std::string key;
    std::string value;

    bool operator==(const HeaderValue&) const = default;
};

// Envoy's field `quota`, by which a server lets Envoy answer for itself for some time, is not sent.
struct RateLimitResponse {
    Code overall_code = Code::kUnknown;
    std::vector<DescriptorStatus> statuses = {};
    std::vector<HeaderValue> response_headers_to_add = {};
    std::vector<HeaderValue> request_headers_to_add = {};
    std::optional<MetadataFields> dynamic_metadata = {};

    void clear();
};

// Decodes envoy.service.ratelimit.v3.RateLimitRequest. Unknown fields are skipped. On an error,
// which names the field and what is allowed, `request` holds part of the message.
[[nodiscard]] std::optional<Error> decode(std::string_view bytes, RateLimitRequest& request);

// Appends envoy.service.ratelimit.v3.RateLimitResponse to `out`.
void encode(const RateLimitResponse& response, std::string& out);

}  // namespace sluice::rls

#endif  // SLUICE_RLS_MESSAGES_H_
