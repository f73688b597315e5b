#include "rls/json_call.h"

#include <charconv>
#include <limits>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "base/json_text.h"

namespace sluice::rls {
namespace {

namespace dom = simdjson::dom;

std::string type_name(dom::element_type type) {
    switch (type) {
        case dom::element_type::ARRAY:
            return "an array";
        case dom::element_type::OBJECT:
            return "an object";
        case dom::element_type::STRING:
            return "a string";
        case dom::element_type::BOOL:
            return "a boolean";
        case dom::element_type::NULL_VALUE:
            return "null";
        default:
            return "a number that does not fit";
    }
}

// A field of a message: its name in protobuf and in JSON.
struct FieldName {
    std::string_view proto;
    std::string_view json;
};
using Names = std::initializer_list<FieldName>;

// Reads a document. The first error is kept, and later ones are ignored.
class JsonReader {
  public:
    explicit JsonReader(JsonRequest& decoded) : decoded_(decoded) {}

    const std::optional<Error>& error() const { return error_; }

    void read_request(const dom::element& root) {
        RateLimitRequest& request = decoded_.request;
        const Names names = {
            {"domain", "domain"}, {"descriptors", "descriptors"}, {"hits_addend", "hitsAddend"}};
        each_field(root, "request", names, [&](std::size_t field, const dom::element& value) {
            if (field == 0) request.domain = text(value, "domain");
            if (field == 1) read_descriptors(value);
            if (field == 2)
                request.hits_addend = static_cast<std::uint32_t>(
                    number(value, "hitsAddend", std::numeric_limits<std::uint32_t>::max()));
        });
    }

  private:
    void fail(const std::string& what) {
        if (!error_) error_ = {kInvalidRequest, what};
    }
    void fail_type(const std::string& where, const dom::element& value, std::string_view allowed) {
        fail(where + " is " + type_name(value.type()) + "; allowed: " + std::string(allowed));
    }

    // Calls `read` with the number of the name, and the value, of each field that is not null.
    template <class Read>
    void each_field(const dom::element& value, const std::string& where, Names names, Read read) {
        dom::object object;
        if (value.get(object) != simdjson::SUCCESS) return fail_type(where, value, "an object");
        std::vector<bool> seen(names.size());
        for (const auto& [key, field] : object) {
            std::size_t number = 0;
            while (number < names.size() && (names.begin() + number)->proto != key &&
                   (names.begin() + number)->json != key)
                ++number;
            if (number == names.size()) return fail_unknown(where, key, names);
            if (seen[number])
                return fail(where + ": the field " + std::string(key) + " is given twice");
            seen[number] = true;
            if (!field.is_null()) read(number, field);
        }
    }
    void fail_unknown(const std::string& where, std::string_view key, Names names) {
        std::string allowed;
        for (const FieldName& name : names)
            allowed.append(allowed.empty() ? "" : ", ").append(name.json);
        fail(where + ": unknown field \"" + std::string(key.substr(0, 64)) +
             "\"; allowed: " + allowed);
    }

    std::string_view text(const dom::element& value, const std::string& where) {
        std::string_view read;
        if (value.get(read) != simdjson::SUCCESS) fail_type(where, value, "a string");
        return decoded_.texts.emplace_back(read);
    }

    // A number, or a text that holds one.
    std::uint64_t number(const dom::element& value, const std::string& where, std::uint64_t most) {
        std::uint64_t read = 0;
        std::string_view digits;
        double real = 0;
        bool is_number = value.get(read) == simdjson::SUCCESS;
        if (!is_number && value.get(digits) == simdjson::SUCCESS) {
            const auto end = digits.data() + digits.size();
            const auto parsed = std::from_chars(digits.data(), end, read);
            is_number = parsed.ec == std::errc{} && parsed.ptr == end;
        } else if (!is_number && value.get(real) == simdjson::SUCCESS && real >= 0 &&
                   real < 0x1p53) {
            read = static_cast<std::uint64_t>(real);
            is_number = static_cast<double>(read) == real;
        }
        if (is_number && read <= most) return read;
        fail_type(where, value, "a whole number from 0 to " + std::to_string(most));
        return 0;
    }

    Unit unit(const dom::element& value, const std::string& where) {
        std::string_view name;
        if (value.get(name) != simdjson::SUCCESS)
            return static_cast<Unit>(
                number(value, where, std::numeric_limits<std::int32_t>::max()));
        const Unit unit = unit_named(name);
        if (unit == Unit::kUnknown && name != "UNKNOWN")
            fail(where + " is \"" + std::string(name.substr(0, 64)) +
                 "\"; allowed: SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, YEAR");
        return unit;
    }

    void read_descriptors(const dom::element& value) {
        dom::array items;
        if (value.get(items) != simdjson::SUCCESS)
            return fail_type("descriptors", value, "an array");
        for (const dom::element item : items) {
            const std::size_t index = decoded_.request.descriptors.size();
            if (index == kMaxDescriptors)
                return fail("descriptors has more items; allowed: up to " +
                            std::to_string(kMaxDescriptors));
            decoded_.request.descriptors.push_back(
                {.first_entry = decoded_.request.entries.size()});
            read_descriptor(item, "descriptors[" + std::to_string(index) + "]");
        }
    }

    void read_descriptor(const dom::element& value, const std::string& where) {
        Descriptor& descriptor = decoded_.request.descriptors.back();
        const Names names = {{"entries", "entries"},
                             {"limit", "limit"},
                             {"hits_addend", "hitsAddend"},
                             {"is_negative_hits", "isNegativeHits"}};
        each_field(value, where, names, [&](std::size_t field, const dom::element& item) {
            if (field == 0) read_entries(item, where + ".entries", descriptor);
            if (field == 1) read_limit(item, where + ".limit", descriptor.limit.emplace());
            if (field == 2)
                descriptor.hits_addend =
                    number(item, where + ".hitsAddend", std::numeric_limits<std::uint64_t>::max());
            if (field == 3 && item.get(descriptor.is_negative_hits) != simdjson::SUCCESS)
                fail_type(where + ".isNegativeHits", item, "true or false");
        });
    }

    void read_entries(const dom::element& value, const std::string& where, Descriptor& descriptor) {
        dom::array items;
        if (value.get(items) != simdjson::SUCCESS) return fail_type(where, value, "an array");
        for (const dom::element item : items) {
            if (descriptor.entry_count == kMaxEntriesPerDescriptor)
                return fail(where + " has more items; allowed: up to " +
                            std::to_string(kMaxEntriesPerDescriptor));
            DescriptorEntry& entry = decoded_.request.entries.emplace_back();
            ++descriptor.entry_count;
            each_field(item,
                       where,
                       {{"key", "key"}, {"value", "value"}},
                       [&](std::size_t field, const dom::element& part) {
                           (field == 0 ? entry.key : entry.value) = text(part, where);
                       });
        }
    }

    void read_limit(const dom::element& value, const std::string& where, LimitOverride& limit) {
        each_field(value,
                   where,
                   {{"requests_per_unit", "requestsPerUnit"}, {"unit", "unit"}},
                   [&](std::size_t field, const dom::element& item) {
                       if (field == 1) limit.unit = unit(item, where + ".unit");
                       if (field == 0)
                           limit.requests_per_unit = static_cast<std::uint32_t>(
                               number(item,
                                      where + ".requestsPerUnit",
                                      std::numeric_limits<std::uint32_t>::max()));
                   });
    }

    JsonRequest& decoded_;
    std::optional<Error> error_;
};

std::string_view name_of(Code code) {
    return code == Code::kOk ? "OK" : code == Code::kOverLimit ? "OVER_LIMIT" : "UNKNOWN";
}

// Writes the fields of one object, with commas.
class JsonFields {
  public:
    explicit JsonFields(std::string& out) : out_(out) { out_ += '{'; }
    ~JsonFields() { out_ += '}'; }
    JsonFields(const JsonFields&) = delete;
    JsonFields& operator=(const JsonFields&) = delete;

    // Begins a field, whose value the caller appends.
    std::string& add(std::string_view name) {
        if (!is_first_) out_ += ',';
        is_first_ = false;
        append_json_string(out_, name);
        return out_ += ':';
    }

  private:
    std::string& out_;
    bool is_first_ = true;
};

void append_limit(std::string& out, const CurrentLimit& limit) {
    JsonFields fields(out);
    if (!limit.name.empty()) append_json_string(fields.add("name"), limit.name);
    if (limit.requests_per_unit != 0)
        fields.add("requestsPerUnit") += std::to_string(limit.requests_per_unit);
    if (limit.unit != Unit::kUnknown) append_json_string(fields.add("unit"), name_of(limit.unit));
}

void append_status(std::string& out, const DescriptorStatus& status) {
    JsonFields fields(out);
    if (status.code != Code::kUnknown) append_json_string(fields.add("code"), name_of(status.code));
    if (status.current_limit) append_limit(fields.add("currentLimit"), *status.current_limit);
    if (status.limit_remaining != 0)
        fields.add("limitRemaining") += std::to_string(status.limit_remaining);
    if (status.duration_until_reset)
        append_json_string(fields.add("durationUntilReset"),
                           std::to_string(status.duration_until_reset->count()) + "s");
}

void append_headers(JsonFields& fields,
                    std::string_view name,
                    const std::vector<HeaderValue>& headers) {
    if (headers.empty()) return;
    std::string& out = fields.add(name);
    char separator = '[';
    for (const HeaderValue& header : headers) {
        out += separator;
        JsonFields pair(out);
        append_json_string(pair.add("key"), header.key);
        append_json_string(pair.add("value"), header.value);
        separator = ',';
    }
    out += ']';
}

}  // namespace

std::optional<Error> decode_json(std::string_view body, JsonRequest& decoded) {
    decoded.request.clear();
    decoded.texts.clear();
    if (body.size() > kMaxRequestBytes) {
        return Error{kInvalidRequest,
                     "the request is " + std::to_string(body.size()) +
                         " bytes long; allowed: up to " + std::to_string(kMaxRequestBytes)};
    }
    dom::parser parser;
    dom::element root;
    if (const auto failed = parser.parse(simdjson::padded_string(body)).get(root)) {
        return Error{kInvalidRequest,
                     std::string("the request is not JSON: ") + simdjson::error_message(failed)};
    }
    JsonReader reader(decoded);
    reader.read_request(root);
    return reader.error();
}

std::string encode_json(const RateLimitResponse& response) {
    std::string body;
    {
        JsonFields fields(body);
        append_json_string(fields.add("overallCode"), name_of(response.overall_code));
        std::string& out = fields.add("statuses");
        char separator = '[';
        for (const DescriptorStatus& status : response.statuses) {
            out += separator;
            append_status(out, status);
            separator = ',';
        }
        out += response.statuses.empty() ? "[]" : "]";
        append_headers(fields, "responseHeadersToAdd", response.response_headers_to_add);
        append_headers(fields, "requestHeadersToAdd", response.request_headers_to_add);
        if (response.dynamic_metadata)
            append_json(fields.add("dynamicMetadata"), *response.dynamic_metadata);
    }
    return body;
}

}  // namespace sluice::rls
