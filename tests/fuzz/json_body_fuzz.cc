// Any bytes are the body of a request. The reader must take exactly those that another parser of
// JSON reads and that obey the schema when they are checked field by field.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/src.hpp>

#include "http/api/body_reader.h"
#include "http/api/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace json = boost::json;
using sluice::http::BodyReader;
using sluice::http::FieldErrors;
using sluice::http::FieldRule;
using sluice::http::Fields;
using sluice::http::Presence;
using sluice::http::Schema;

// The first byte of the input chooses one of these.
constexpr std::array<Schema, 5> kSchemas = {sluice::http::kDecisionSchema,
                                            sluice::http::kSetOverrideSchema,
                                            sluice::http::kNameSchema,
                                            sluice::http::kPageSchema,
                                            sluice::http::kV1DecisionSchema};

[[noreturn]] void fail(const char* what, std::string_view body) {
    std::fprintf(stderr, "%s: %.*s\n", what, static_cast<int>(body.size()), body.data());
    std::abort();
}

enum class Verdict { kJson, kNotJson, kUnclear };

// The other parser refuses exponents that overflow and halves of surrogate pairs, which are JSON by
// its grammar.
Verdict parse(std::string_view body, json::value& value) {
    json::error_code failed;
    value = json::parse({body.data(), body.size()}, failed, {}, {.max_depth = 100'000});
    if (!failed) return Verdict::kJson;
    const bool names_surrogate =
        body.find("\\ud") != std::string_view::npos || body.find("\\uD") != std::string_view::npos;
    const bool differs = names_surrogate || failed == json::error::exponent_overflow;
    return differs ? Verdict::kUnclear : Verdict::kNotJson;
}

std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
    }));
}

bool obeys_text(const json::value& value, const FieldRule& rule, const Fields& read) {
    if (!value.is_string() || (read.*rule.text) != std::string_view(value.as_string()))
        return false;
    const std::size_t length = characters(read.*rule.text);
    return length >= static_cast<std::size_t>(rule.min) && length <= sluice::http::kMaxCharacters;
}

// A number with a point or an exponent is no int64 to the other parser, although it may be whole.
bool obeys_number(const json::value& value, const FieldRule& rule, const Fields& read) {
    const std::int64_t number = read.*rule.number;
    if (number < rule.min || number > rule.max) return false;
    if (value.is_double()) return value.as_double() == static_cast<double>(number);
    return value.is_int64() && value.as_int64() == number;
}

// Whether `value` obeys the schema and `read` holds what it says.
bool obeys(const json::value& value, Schema schema, const Fields& read) {
    if (!value.is_object()) return false;
    std::size_t found = 0;
    for (const FieldRule& rule : schema) {
        const json::value* field =
            value.as_object().if_contains({rule.name.data(), rule.name.size()});
        if (field == nullptr && rule.presence == Presence::kRequired) return false;
        if (field == nullptr) continue;
        ++found;
        if (rule.boolean != nullptr) {
            if (!field->is_bool() || field->as_bool() != read.*rule.boolean) return false;
            continue;
        }
        if (rule.text == nullptr && rule.number == nullptr) continue;  // may be anything
        if (!(rule.text != nullptr ? obeys_text(*field, rule, read)
                                   : obeys_number(*field, rule, read)))
            return false;
    }
    return found == value.as_object().size();
}

void check_object(BodyReader& reader, std::string_view body, Schema schema) {
    Fields fields;
    FieldErrors errors;
    reader.read_object(body, schema, fields, errors);
    json::value value;
    const Verdict verdict = parse(body, value);
    if (errors.empty() && verdict == Verdict::kNotJson) fail("taken, but not JSON", body);
    if (errors.empty() && verdict == Verdict::kJson && !obeys(value, schema, fields))
        fail("taken, but against the schema", body);
}

void check_array(BodyReader& reader, std::string_view body, Schema schema) {
    std::vector<Fields> items;
    FieldErrors errors;
    reader.read_array(body, schema, items, errors);
    json::value value;
    if (!errors.empty() || parse(body, value) == Verdict::kUnclear) return;
    if (!value.is_array() || value.as_array().size() != items.size())
        fail("taken, but no such array", body);
    if (items.empty() || items.size() > sluice::http::kMaxItems) fail("too few or too many", body);
    for (std::size_t i = 0; i < items.size(); ++i)
        if (!obeys(value.as_array()[i], schema, items[i]))
            fail("taken, but against the schema", body);
}

void check_fault(std::string_view body) {
    json::value value;
    const Verdict verdict = parse(body, value);
    const auto fault = sluice::http::find_json_fault(body);
    if (fault && fault->position > body.size()) fail("a fault beyond the end", body);
    if (verdict == Verdict::kJson && fault) fail("refused, but JSON", body);
    if (verdict == Verdict::kNotJson && !fault) fail("no fault found, but not JSON", body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    static BodyReader reader;
    const Schema schema = kSchemas.at(data[0] % kSchemas.size());
    const std::string body(data + 1, data + size);
    check_object(reader, body, schema);
    check_array(reader, body, schema);
    check_fault(body);
    return 0;
}
