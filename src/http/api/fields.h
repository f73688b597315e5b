// The fields of the API's requests and what each may hold.
#ifndef SLUICE_HTTP_API_FIELDS_H_
#define SLUICE_HTTP_API_FIELDS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::http {

// The union of what the routes take. A field that is absent keeps its default.
struct Fields {
    std::string_view name_space;
    std::string_view identifier;
    std::string_view cursor;
    std::int64_t limit = 0;
    std::int64_t duration = 0;  // milliseconds
    std::int64_t cost = 1;
    std::int64_t page_size = 10;  // called "limit" in a request for a page
};

enum class Presence { kRequired, kOptional };

// One field of a request: a text of `min` to 512 characters, or a whole number from `min` to `max`.
// One that is neither may hold any JSON and is ignored.
struct FieldRule {
    std::string_view name;
    std::string_view Fields::*text = nullptr;
    std::int64_t Fields::*number = nullptr;
    std::int64_t min = 0;
    std::int64_t max = 0;
    Presence presence = Presence::kRequired;
};

using Schema = std::span<const FieldRule>;

inline constexpr std::size_t kMaxCharacters = 512;
inline constexpr std::int64_t kMaxNumber = (std::int64_t{1} << 53) - 1;
inline constexpr std::size_t kMaxItems = 100;

inline constexpr FieldRule kNamespace{.name = "namespace", .text = &Fields::name_space, .min = 1};
inline constexpr FieldRule kIdentifier{.name = "identifier", .text = &Fields::identifier, .min = 1};
inline constexpr FieldRule kLimit{
    .name = "limit", .number = &Fields::limit, .min = 0, .max = kMaxNumber};
inline constexpr FieldRule kDuration{
    .name = "duration", .number = &Fields::duration, .min = 1000, .max = 31'622'400'000};
inline constexpr FieldRule kCost{.name = "cost",
                                 .number = &Fields::cost,
                                 .min = 0,
                                 .max = kMaxNumber,
                                 .presence = Presence::kOptional};
// An empty one asks for the first page.
inline constexpr FieldRule kCursor{
    .name = "cursor", .text = &Fields::cursor, .presence = Presence::kOptional};
inline constexpr FieldRule kPageSize{.name = "limit",
                                     .number = &Fields::page_size,
                                     .min = 1,
                                     .max = 100,
                                     .presence = Presence::kOptional};

// What the v1 API has and this server does without.
inline constexpr FieldRule kOptionalNamespace{
    .name = "namespace", .text = &Fields::name_space, .min = 1, .presence = Presence::kOptional};
inline constexpr FieldRule kAsync{.name = "async", .presence = Presence::kOptional};
inline constexpr FieldRule kMeta{.name = "meta", .presence = Presence::kOptional};
inline constexpr FieldRule kResources{.name = "resources", .presence = Presence::kOptional};

// In the order in which the published clients send them: the reader looks first where it found the
// last one.
inline constexpr std::array kDecisionSchema{kNamespace, kCost, kDuration, kIdentifier, kLimit};
inline constexpr std::array kV1DecisionSchema{
    kOptionalNamespace, kIdentifier, kLimit, kDuration, kCost, kMeta, kResources, kAsync};
inline constexpr std::array kGrantSchema{kNamespace, kDuration, kIdentifier, kLimit};
inline constexpr std::array kNameSchema{kNamespace, kIdentifier};
inline constexpr std::array kKeySchema{kNamespace, kIdentifier, kDuration};
inline constexpr std::array kPageSchema{kNamespace, kCursor, kPageSize};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_FIELDS_H_
