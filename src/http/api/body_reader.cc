#include "http/api/body_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>

#include <simdjson.h>

#include "http/api/json_fault.h"
#include "http/api/json_number.h"
#include "http/wire/characters.h"

namespace sluice::http {
namespace {

namespace ondemand = simdjson::ondemand;

// How much of a name or a number that somebody sent an answer repeats.
constexpr std::size_t kMaxEcho = 64;

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

// What nearly every number looks like: up to 16 digits, the first of them no zero unless it is the
// only one. Anything else is none. The parser's own numbers won't do: it reads 01 and 10- as if
// they were some.
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

// One object of the body while it is read: the body itself, or an item of its array.
class ObjectReader {
  public:
    struct Where {
        std::size_t item;  // kNotAnItem for the body itself
        Schema schema;
    };

    ObjectReader(const Where& where, Fields& fields, Problems& problems)
        : where_(where), fields_(fields), problems_(problems) {}

    // False if the object could not be read to its end.
    template <class Value>
    bool read(Value&& value) {
        ondemand::object object;
        if (value.get_object().get(object) != simdjson::SUCCESS) {
            problems_.add(location(), "is " + type_of(value) + "; allowed: an object");
            return true;
        }
        for (auto&& entry : object) {
            ondemand::field field;
            if (std::move(entry).get(field) != simdjson::SUCCESS) return false;
            read_field(field);
        }
        report_missing();
        return true;
    }

    // Whether the object has a value that was not looked at.
    bool has_skipped() const { return skipped_; }

  private:
    void read_field(ondemand::field& field) {
        std::string_view name;
        if (field.unescaped_key().get(name) != simdjson::SUCCESS) {
            problems_.add(location(), "has a field whose name is not Unicode");
            return;
        }
        const FieldRule* rule = find_rule(name);
        if (rule == nullptr) {
            problems_.add(location(name), "is unknown; allowed: " + allowed(where_.schema));
        } else if (!mark_seen(*rule)) {
            problems_.add(location(name), "is given twice");
        } else if (rule->text != nullptr) {
            read_text(*rule, field.value());
        } else if (rule->number != nullptr) {
            read_number(*rule, field.value());
        } else {
            skipped_ = true;
        }
    }

    // Fields come in the schema's order or nearly so: the search begins after the last one that was
    // found.
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
        std::string_view text;
        if (value.get_string().get(text) == simdjson::SUCCESS) [[likely]] {
            fields_.*rule.text = text;
            check_length(rule, text);
            return;
        }
        ondemand::json_type type{};
        const bool is_string =
            value.type().get(type) == simdjson::SUCCESS && type == ondemand::json_type::string;
        const std::string what =
            is_string ? "not Unicode: it has half of a surrogate pair" : type_of(value);
        problems_.add(location(rule.name), "is " + what + "; allowed: " + allowed(rule));
    }

    void check_length(const FieldRule& rule, std::string_view text) {
        if (text.size() - 1 < kMaxCharacters) [[likely]] {
            return;
        }
        const auto length = static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
        if (length >= static_cast<std::size_t>(rule.min) && length <= kMaxCharacters) return;
        const std::string what =
            text.empty() ? "empty" : std::to_string(length) + " characters long";
        problems_.add(location(rule.name), "is " + what + "; allowed: " + allowed(rule));
    }

    void read_number(const FieldRule& rule, ondemand::value& value) {
        const std::string_view token = trim_end(value.raw_json_token());
        const auto number = plain_digits(token);
        if (number && store_number(rule, *number)) [[likely]] {
            return;
        }
        read_odd_number(rule, value, token);
    }

    // A number that is out of range or not written as plain digits, or something that is no number
    // at all.
    void read_odd_number(const FieldRule& rule, ondemand::value& value, std::string_view token) {
        std::string what = type_of(value);
        if (what == "a number") {
            const auto whole = find_json_fault(token) ? std::nullopt : whole_number(token);
            if (whole && store_number(rule, *whole)) return;
            what = echo(token);
        }
        problems_.add(location(rule.name), "is " + what + "; allowed: " + allowed(rule));
    }

    bool store_number(const FieldRule& rule, std::int64_t number) {
        fields_.*rule.number = number;
        return number >= rule.min && number <= rule.max;
    }

    void report_missing() {
        for (const FieldRule& rule : where_.schema) {
            if (rule.presence == Presence::kOptional || (seen_ & bit_of(rule)) != 0) continue;
            problems_.add(location(rule.name), "is missing; allowed: " + allowed(rule));
        }
    }

    std::string location() const {
        return where_.item == kNotAnItem ? "body" : "body[" + std::to_string(where_.item) + "]";
    }
    std::string location(std::string_view name) const { return location() + "." + echo(name); }

    const Where where_;
    Fields& fields_;
    Problems& problems_;
    unsigned seen_ = 0;
    std::size_t next_ = 0;
    bool skipped_ = false;
};

std::string describe(const JsonFault& fault, std::string_view body) {
    const bool ends = fault.position == body.size();
    return (body.empty() ? "is empty"
            : ends       ? "ends too early"
                         : "is not JSON") +
           std::string(" at byte ") + std::to_string(fault.position) +
           "; expected: " + std::string(fault.expected);
}

}  // namespace

class BodyReader::Core {
  public:
    // The document of `body`, or none if it is not JSON at first sight.
    std::optional<ondemand::document> open(std::string_view body) {
        // The parser reads whole blocks and may look beyond the end of what it is given.
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

bool read_items(ondemand::document& document,
                Schema schema,
                std::vector<Fields>& items,
                Problems& problems,
                bool& has_skipped) {
    ondemand::array array;
    if (document.get_array().get(array) != simdjson::SUCCESS) {
        problems.add("body", "is " + type_of(document) + "; allowed: an array of 1 to 100 objects");
        return true;
    }
    std::size_t count = 0;
    for (auto&& entry : array) {
        ondemand::value value;
        if (entry.get(value) != simdjson::SUCCESS) return false;
        if (++count > kMaxItems) continue;
        Fields& item = items.emplace_back();
        ObjectReader object({.item = count - 1, .schema = schema}, item, problems);
        if (!object.read(value)) return false;
        has_skipped |= object.has_skipped();
    }
    if (count < 1 || count > kMaxItems) {
        problems.add("body", "has " + std::to_string(count) + " items; allowed: 1 to 100");
    }
    return true;
}

// How far the parser has looked at a body.
struct Coverage {
    bool to_end;
    bool has_skipped;  // values within it
};

// The parser is lazy: what it skipped it has not checked. So a body with an ignored value or with
// any problem is scanned in full, and its problems count only if it is JSON.
void settle(const Coverage& read, std::string_view body, Problems& problems) {
    if (read.to_end && !read.has_skipped && problems.empty()) [[likely]] {
        return;
    }
    if (const auto fault = find_json_fault(body)) {
        problems.clear();
        problems.add("body", describe(*fault, body));
    } else if (!read.to_end && problems.empty()) {
        problems.add("body", "can't be read");
    }
}

}  // namespace

BodyReader::BodyReader() : core_(std::make_unique<Core>()) {}
BodyReader::~BodyReader() = default;

void BodyReader::read_object(std::string_view body,
                             Schema schema,
                             Fields& fields,
                             Problems& problems) {
    auto document = core_->open(body);
    ObjectReader object({.item = kNotAnItem, .schema = schema}, fields, problems);
    const bool read_to_end = document && object.read(*document) && is_at_end(*document);
    settle({.to_end = read_to_end, .has_skipped = object.has_skipped()}, body, problems);
}

void BodyReader::read_array(std::string_view body,
                            Schema schema,
                            std::vector<Fields>& items,
                            Problems& problems) {
    items.clear();
    auto document = core_->open(body);
    bool has_skipped = false;
    const bool read_to_end = document &&
                             read_items(*document, schema, items, problems, has_skipped) &&
                             is_at_end(*document);
    settle({.to_end = read_to_end, .has_skipped = has_skipped}, body, problems);
}

}  // namespace sluice::http
