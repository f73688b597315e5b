// Reads the JSON body of a request: the fields of each route, their rules, and the errors found.
#ifndef SLUICE_HTTP_API_BODY_READER_H_
#define SLUICE_HTTP_API_BODY_READER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::http {

// The values of all fields that some route takes. An absent field keeps its default.
struct Fields {
    std::string_view name_space;
    std::string_view identifier;
    std::string_view cursor;
    std::string_view by;
    std::int64_t limit = 0;
    std::int64_t duration = 0;  // milliseconds
    std::int64_t cost = 1;
    bool debit = false;
    std::int64_t window = 0;      // milliseconds
    std::int64_t page_size = 10;  // called "limit" in a request for a page
};

enum class Presence { kRequired, kOptional };

// The rule for one field: a text of `min` to 512 characters, a whole number from `min` to `max`, or
// a boolean. A field that is none of these may hold any JSON and is ignored.
struct FieldRule {
    std::string_view name;
    std::string_view Fields::*text = nullptr;
    std::int64_t Fields::*number = nullptr;
    bool Fields::*boolean = nullptr;
    std::int64_t min = 0;
    std::int64_t max = 0;
    Presence presence = Presence::kRequired;
};

using Schema = std::span<const FieldRule>;

inline constexpr std::size_t kMaxCharacters = 512;
inline constexpr std::int64_t kMaxNumber = (std::int64_t{1} << 53) - 1;
inline constexpr std::size_t kMaxItems = 100;
// Of a body with errors or with ignored fields, all nested ones included. Others have no more than
// their schema allows.
inline constexpr std::size_t kMaxValues = 20'000;

inline constexpr FieldRule kNamespace{.name = "namespace", .text = &Fields::name_space, .min = 1};
inline constexpr FieldRule kIdentifier{.name = "identifier", .text = &Fields::identifier, .min = 1};
inline constexpr FieldRule kLimit{
    .name = "limit", .number = &Fields::limit, .min = 0, .max = kMaxNumber};
inline constexpr FieldRule kOptionalLimit{.name = "limit",
                                          .number = &Fields::limit,
                                          .min = 0,
                                          .max = kMaxNumber,
                                          .presence = Presence::kOptional};
inline constexpr FieldRule kDuration{
    .name = "duration", .number = &Fields::duration, .min = 1000, .max = 31'622'400'000};
inline constexpr FieldRule kCost{.name = "cost",
                                 .number = &Fields::cost,
                                 .min = 0,
                                 .max = kMaxNumber,
                                 .presence = Presence::kOptional};
inline constexpr FieldRule kDebit{
    .name = "debit", .boolean = &Fields::debit, .presence = Presence::kOptional};
// An empty cursor requests the first page.
inline constexpr FieldRule kCursor{
    .name = "cursor", .text = &Fields::cursor, .presence = Presence::kOptional};
inline constexpr FieldRule kPageSize{.name = "limit",
                                     .number = &Fields::page_size,
                                     .min = 1,
                                     .max = 100,
                                     .presence = Presence::kOptional};

// Fields of the v1 API that this server ignores or defaults.
inline constexpr FieldRule kOptionalNamespace{
    .name = "namespace", .text = &Fields::name_space, .min = 1, .presence = Presence::kOptional};
inline constexpr FieldRule kAsync{.name = "async", .presence = Presence::kOptional};
inline constexpr FieldRule kMeta{.name = "meta", .presence = Presence::kOptional};
inline constexpr FieldRule kResources{.name = "resources", .presence = Presence::kOptional};

// In the order in which the published clients send them: the reader starts its search after the
// field that it found last.
inline constexpr std::array kDecisionSchema{
    kNamespace, kCost, kDuration, kIdentifier, kLimit, kDebit};
inline constexpr std::array kBatchItemSchema{kNamespace, kCost, kDuration, kIdentifier, kLimit};
inline constexpr std::array kV1DecisionSchema{
    kOptionalNamespace, kIdentifier, kLimit, kDuration, kCost, kMeta, kResources, kAsync};
inline constexpr std::array kSetOverrideSchema{kNamespace, kDuration, kIdentifier, kLimit};
inline constexpr std::array kNameSchema{kNamespace, kIdentifier};
inline constexpr std::array kInspectSchema{
    kNamespace, kIdentifier, kDuration, kOptionalLimit, kCost};
inline constexpr std::array kPageSchema{kNamespace, kCursor, kPageSize};
inline constexpr std::array kLogSchema{kOptionalNamespace, kCursor, kPageSize};

// One invalid part of a request.
struct FieldError {
    std::string location;  // "body.limit", "body[3].cost"
    std::string message;   // the value, and what is allowed
};

// The errors of a request in the order in which they were found. Thread-compatible.
//
// Keeps 1,000, enough for a batch of 100 with every field wrong. A body of 1 MiB can hold 200,000
// unknown fields: further ones are counted without being described, and the reader stops looking
// for more after 6,000.
class FieldErrors {
  public:
    static constexpr std::size_t kMaxKept = 1'000;
    static constexpr std::size_t kMaxCounted = 6'000;

    // `describe` returns the FieldError. It is called only if that is kept.
    template <class Describe>
    void add(Describe describe) {
        ++found_;
        if (kept_.size() < kMaxKept) kept_.push_back(describe());
    }
    void add(std::string_view location, std::string message) {
        add([&] { return FieldError{std::string(location), std::move(message)}; });
    }

    void clear() {
        kept_.clear();
        found_ = 0;
    }

    bool empty() const { return found_ == 0; }
    bool is_full() const { return found_ >= kMaxCounted; }
    std::size_t found() const { return found_; }  // if it is full, there may be more
    std::span<const FieldError> kept() const { return kept_; }

  private:
    std::vector<FieldError> kept_;
    std::size_t found_ = 0;
};

// Parses bodies with simdjson. A valid body is JSON and has the schema's fields and no other, each
// once, of the right type and within its range; text must be Unicode. For an invalid one, `errors`
// gets either the position of the first byte that is not JSON, or the fields that break a rule.
// Whatever a body holds, the time is bounded by its size, the number of errors that are kept and
// counted, and kMaxValues: about a millisecond for 1 MiB.
//
// Thread-compatible: each serving thread has one, whose memory its requests reuse. The texts in a
// result stay valid until the next call.
class BodyReader {
  public:
    BodyReader();
    ~BodyReader();
    BodyReader(const BodyReader&) = delete;
    BodyReader& operator=(const BodyReader&) = delete;

    // Reads one object. `fields` is meaningful only if `errors` stays empty.
    void read_object(std::string_view body, Schema schema, Fields& fields, FieldErrors& errors);

    // Reads an array of 1 to 100 objects.
    void read_array(std::string_view body,
                    Schema schema,
                    std::vector<Fields>& items,
                    FieldErrors& errors);

  private:
    class Parser;
    std::unique_ptr<Parser> parser_;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_BODY_READER_H_
