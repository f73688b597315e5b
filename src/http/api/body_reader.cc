#include "http/api/body_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>

#include <simdjson.h>

#include "http/api/json.h"
#include "http/wire/characters.h"

namespace sluice::http {
namespace {

namespace ondemand = simdjson::ondemand;

// Bytes of a name or a number that an answer repeats.
constexpr std::size_t kMaxEcho = 64;

// Bytes of a name as it is written. The schemas' are shorter, even with each character escaped.
constexpr std::size_t kMaxWrittenName = 128;

// Bytes of a text as it is written. Each of kMaxCharacters takes at most 12, as two escapes.
constexpr std::size_t kMaxWrittenText = 8192;
static_assert(kMaxWrittenText > 12 * kMaxCharacters + 2);

// Bytes of a number. A longer one would be whole only by its trailing zeros.
constexpr std::size_t kMaxWrittenNumber = 1024;

constexpr std::size_t kNotAnItem = static_cast<std::size_t>(-1);

bool begins_character(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

std::string echo(std::string_view text) {
    if (text.size() <= kMaxEcho) return std::string(text);
    std::size_t end = kMaxEcho;
    while (end > 0 && !begins_character(text[end])) {
        --end;
    }
    return std::string(text.substr(0, end)) + "...";
}

std::string allowed(const FieldRule& rule) {
    if (rule.text != nullptr) {
        return "a string of " + std::to_string(rule.min) + " to " + std::to_string(kMaxCharacters) +
               " characters";
    }
    if (rule.boolean != nullptr) return "true or false";
    return "a whole number from " + std::to_string(rule.min) + " to " + std::to_string(rule.max);
}

std::string allowed(Schema schema) {
    std::string names;
    for (const FieldRule& rule : schema) {
        if (!names.empty()) names += ", ";
        names += rule.name;
    }
    return names;
}

std::string type_name(ondemand::json_type type) {
    switch (type) {
        case ondemand::json_type::array:
            return "an array";
        case ondemand::json_type::object:
            return "an object";
        case ondemand::json_type::number:
            return "a number";
        case ondemand::json_type::string:
            return "a string";
        case ondemand::json_type::boolean:
            return "a boolean";
        case ondemand::json_type::null:
            return "null";
    }
    return "something else";
}

template <class Value>
std::string type_of(Value& value) {
    ondemand::json_type type{};
    return value.type().get(type) == simdjson::SUCCESS ? type_name(type) : "something else";
}

std::string_view trim_end(std::string_view text) {
    const std::size_t last = text.find_last_not_of(" \t\r\n");
    return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// The fast path for numbers: up to 16 digits without a leading zero. None for any other spelling.
// simdjson's own conversion is too lenient: it accepts 01 and 10-.
std::optional<std::int64_t> plain_digits(std::string_view token) {
    if (token.empty() || token.size() > 16 || (token[0] == '0' && token.size() > 1)) {
        return std::nullopt;
    }
    std::int64_t number = 0;
    for (const char c : token) {
        if (!is_digit(c)) return std::nullopt;
        number = number * 10 + (c - '0');
    }
    return number;
}

// Reads one object: the body itself, or an item of its array.
class ObjectReader {
  public:
    struct Where {
        std::size_t item;  // kNotAnItem for the body itself
        Schema schema;
    };

    ObjectReader(const Where& where, Fields& fields, FieldErrors& errors)
        : where_(where), fields_(fields), errors_(errors) {}

    // False if the object could not be read to its end.
    template <class Value>
    bool read(Value&& value) {
        ondemand::object object;
        if (value.get_object().get(object) != simdjson::SUCCESS) {
            report("", [&] { return "is " + type_of(value) + "; allowed: an object"; });
            return true;
        }
        for (auto&& entry : object) {
            ondemand::field field;
            if (errors_.is_full() || std::move(entry).get(field) != simdjson::SUCCESS) return false;
            read_field(field);
        }
        report_missing();
        return true;
    }

    // True if the object has an ignored field, whose value was not parsed.
    bool has_skipped() const { return skipped_; }

  private:
    void read_field(ondemand::field& field) {
        const std::string_view written = written_name(field);
        std::string_view name = written;
        if (written.size() <= kMaxWrittenName &&
            field.unescaped_key().get(name) != simdjson::SUCCESS) {
            report("", [] { return std::string("has a field whose name is not Unicode"); });
            return;
        }
        const FieldRule* rule = find_rule(name);
        if (rule == nullptr) {
            report(name, [&] { return "is unknown; allowed: " + allowed(where_.schema); });
        } else if (!mark_seen(*rule)) {
            report(name, [] { return std::string("is given twice"); });
        } else if (rule->text != nullptr) {
            read_text(*rule, field.value());
        } else if (rule->number != nullptr) {
            read_number(*rule, field.value());
        } else if (rule->boolean != nullptr) {
            read_boolean(*rule, field.value());
        } else {
            skipped_ = true;
        }
    }

    // The name as it is written, up to one byte more than kMaxWrittenName.
    static std::string_view written_name(ondemand::field& field) {
        const char* const begin = field.key().raw();
        const auto most = static_cast<std::size_t>(field.value().raw_json_token().data() - begin);
        if (most <= kMaxWrittenName) [[likely]]
            return {begin, most};
        // There may be space behind the name.
        std::size_t length = 0;
        while (length <= kMaxWrittenName && begin[length] != '"')
            length += begin[length] == '\\' ? 2 : 1;
        return {begin, std::min(length, kMaxWrittenName + 1)};
    }

    // Fields come in nearly the schema's order: the search starts after the field found last.
    const FieldRule* find_rule(std::string_view name) {
        for (std::size_t tried = 0; tried < where_.schema.size(); ++tried) {
            const FieldRule& rule = where_.schema[next_];
            next_ = next_ + 1 == where_.schema.size() ? 0 : next_ + 1;
            if (rule.name == name) return &rule;
        }
        return nullptr;
    }

    unsigned bit_of(const FieldRule& rule) const {
        return 1U << static_cast<unsigned>(&rule - where_.schema.data());
    }

    bool mark_seen(const FieldRule& rule) {
        const unsigned bit = bit_of(rule);
        const bool first = (seen_ & bit) == 0;
        seen_ |= bit;
        return first;
    }

    void read_text(const FieldRule& rule, ondemand::value& value) {
        if (value.raw_json_token().size() > kMaxWrittenText && is_overlong_text(value)) {
            report(rule.name, [&] {
                return "is more than " + std::to_string(kMaxCharacters) +
                       " characters long; allowed: " + allowed(rule);
            });
            return;
        }
        std::string_view text;
        if (value.get_string().get(text) == simdjson::SUCCESS) [[likely]] {
            fields_.*rule.text = text;
            check_length(rule, text);
            return;
        }
        report_value(rule, [&] {
            const std::string what = type_of(value);
            return what == "a string" ? "not Unicode: it has half of a surrogate pair" : what;
        });
    }

    // The token may be followed by space.
    static bool is_overlong_text(ondemand::value& value) {
        const std::string_view token = trim_end(value.raw_json_token());
        return token.starts_with('"') && token.size() > kMaxWrittenText;
    }

    void check_length(const FieldRule& rule, std::string_view text) {
        if (text.size() - 1 < kMaxCharacters) [[likely]] {
            return;
        }
        const auto length = static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
        if (length >= static_cast<std::size_t>(rule.min) && length <= kMaxCharacters) return;
        report_value(rule, [&] {
            return text.empty() ? "empty" : std::to_string(length) + " characters long";
        });
    }

    void read_number(const FieldRule& rule, ondemand::value& value) {
        const std::string_view token = trim_end(value.raw_json_token());
        const auto number = plain_digits(token);
        if (number && store_number(rule, *number)) [[likely]] {
            return;
        }
        read_odd_number(rule, value, token);
    }

    // Handles a number that is out of range or not plain digits, or a value of another type.
    void read_odd_number(const FieldRule& rule, ondemand::value& value, std::string_view token) {
        const std::string type = type_of(value);
        const bool is_number = type == "a number";
        if (is_number && token.size() <= kMaxWrittenNumber && !find_json_fault(token)) {
            const auto whole = whole_number(token);
            if (whole && store_number(rule, *whole)) return;
        }
        report_value(rule, [&] { return is_number ? echo(token) : type; });
    }

    void read_boolean(const FieldRule& rule, ondemand::value& value) {
        if (value.get_bool().get(fields_.*rule.boolean) == simdjson::SUCCESS) return;
        report_value(rule, [&] { return type_of(value); });
    }

    bool store_number(const FieldRule& rule, std::int64_t number) {
        fields_.*rule.number = number;
        return number >= rule.min && number <= rule.max;
    }

    void report_missing() {
        for (const FieldRule& rule : where_.schema) {
            if (rule.presence == Presence::kOptional || (seen_ & bit_of(rule)) != 0) continue;
            report(rule.name, [&] { return "is missing; allowed: " + allowed(rule); });
        }
    }

    // Adds an error about the field `name`, or about the object if that is empty. `describe` is
    // called only if the error is kept.
    template <class Describe>
    void report(std::string_view name, Describe describe) {
        errors_.add([&] {
            return FieldError{name.empty() ? location() : location(name), describe()};
        });
    }
    // The same for a value that its rule does not allow; `describe` says what it is.
    template <class Describe>
    void report_value(const FieldRule& rule, Describe describe) {
        report(rule.name, [&] { return "is " + describe() + "; allowed: " + allowed(rule); });
    }

    std::string location() const {
        return where_.item == kNotAnItem ? "body" : "body[" + std::to_string(where_.item) + "]";
    }
    std::string location(std::string_view name) const { return location() + "." + echo(name); }

    const Where where_;
    Fields& fields_;
    FieldErrors& errors_;
    unsigned seen_ = 0;
    std::size_t next_ = 0;
    bool skipped_ = false;
};

std::string describe(const JsonFault& fault, std::string_view body) {
    if (fault.kind == JsonFault::Kind::kTooManyValues)
        return "has more values; allowed: up to " + std::to_string(kMaxValues);
    const bool ends = fault.position == body.size();
    return (body.empty() ? "is empty"
            : ends       ? "ends too early"
                         : "is not JSON") +
           std::string(" at byte ") + std::to_string(fault.position) +
           "; expected: " + std::string(fault.expected);
}

}  // namespace

class BodyReader::Parser {
  public:
    // Returns the document of `body`; none if simdjson finds an error at once.
    std::optional<ondemand::document> open(std::string_view body) {
        // simdjson reads whole blocks, beyond the end of the text.
        const std::size_t needed = body.size() + simdjson::SIMDJSON_PADDING;
        if (padded_.size() < needed) padded_.resize(std::bit_ceil(needed));
        if (!body.empty()) std::memcpy(padded_.data(), body.data(), body.size());
        ondemand::document document;
        if (parser_.iterate(padded_.data(), body.size(), padded_.size()).get(document) !=
            simdjson::SUCCESS) {
            return std::nullopt;
        }
        return document;
    }

  private:
    ondemand::parser parser_;
    std::vector<char> padded_;
};

namespace {

bool is_at_end(ondemand::document& document) {
    return document.current_location().error() == simdjson::OUT_OF_BOUNDS;
}

// Further items of an array are not counted.
constexpr std::size_t kMaxCountedItems = 10'000;

bool read_items(ondemand::document& document,
                Schema schema,
                std::vector<Fields>& items,
                FieldErrors& errors,
                bool& has_skipped) {
    ondemand::array array;
    if (document.get_array().get(array) != simdjson::SUCCESS) {
        errors.add("body", "is " + type_of(document) + "; allowed: an array of 1 to 100 objects");
        return true;
    }
    std::size_t count = 0;
    for (auto&& entry : array) {
        ondemand::value value;
        if (entry.get(value) != simdjson::SUCCESS) return false;
        if (++count > kMaxCountedItems) break;
        if (count > kMaxItems) continue;
        Fields& item = items.emplace_back();
        ObjectReader object({.item = count - 1, .schema = schema}, item, errors);
        if (!object.read(value)) return false;
        has_skipped |= object.has_skipped();
    }
    if (count < 1 || count > kMaxItems) {
        const std::string number = count > kMaxCountedItems
                                       ? "more than " + std::to_string(kMaxCountedItems)
                                       : std::to_string(count);
        errors.add("body", "has " + number + " items; allowed: 1 to 100");
    }
    return count <= kMaxCountedItems;
}

// The parts of a body that simdjson has parsed.
struct Coverage {
    bool to_end;
    bool has_skipped;  // ignored values within it
};

// simdjson is lazy and does not validate what it skips. So a body with an ignored value or with any
// error is scanned; if that finds a syntax error, or too many values, it replaces the field errors.
void check_rest_of_body(const Coverage& read, std::string_view body, FieldErrors& errors) {
    if (read.to_end && !read.has_skipped && errors.empty()) [[likely]] {
        return;
    }
    if (const auto fault = find_json_fault(body, kMaxValues)) {
        errors.clear();
        errors.add("body", describe(*fault, body));
    } else if (!read.to_end && errors.empty()) {
        errors.add("body", "can't be read");
    }
}

}  // namespace

BodyReader::BodyReader() : parser_(std::make_unique<Parser>()) {}
BodyReader::~BodyReader() = default;

void BodyReader::read_object(std::string_view body,
                             Schema schema,
                             Fields& fields,
                             FieldErrors& errors) {
    auto document = parser_->open(body);
    ObjectReader object({.item = kNotAnItem, .schema = schema}, fields, errors);
    const bool read_to_end = document && object.read(*document) && is_at_end(*document);
    check_rest_of_body({.to_end = read_to_end, .has_skipped = object.has_skipped()}, body, errors);
}

void BodyReader::read_array(std::string_view body,
                            Schema schema,
                            std::vector<Fields>& items,
                            FieldErrors& errors) {
    items.clear();
    auto document = parser_->open(body);
    bool has_skipped = false;
    const bool read_to_end = document &&
                             read_items(*document, schema, items, errors, has_skipped) &&
                             is_at_end(*document);
    check_rest_of_body({.to_end = read_to_end, .has_skipped = has_skipped}, body, errors);
}

}  // namespace sluice::http
