#include "rls/yaml_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "config/duration.h"
#include "rls/rule_config.h"

namespace sluice::rls {
namespace {

constexpr int kMaxMetadataDepth = 16;
constexpr std::size_t kMaxMetadataValues = 10'000;  // of one file

bool contains(std::span<const std::string_view> words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

std::string joined(std::span<const std::string_view> words) {
    std::string text;
    for (const std::string_view word : words)
        text.append(text.empty() ? "" : ", ").append(word);
    return text;
}

bool has_no_content(const YAML::Node& node) {
    return !node.IsDefined() || node.IsNull();
}

// A whole number of YAML 1.1: decimal, 0x, 0o or 0 for octal, 0b, with underscores, or a number
// with a fraction of 0.
std::optional<std::uint64_t> whole_number(std::string text) {
    std::erase(text, '_');
    int base = 10;
    std::size_t digits = 0;
    if (text.size() > 1 && text[0] == '0') {
        const char mark = text[1];
        base = mark == 'x' || mark == 'X' ? 16 : mark == 'b' ? 2 : 8;
        digits = base == 8 && mark != 'o' ? 1 : 2;
    }
    const char* const end = text.data() + text.size();
    std::uint64_t number = 0;
    auto parsed = std::from_chars(text.data() + digits, end, number, base);
    if (parsed.ec == std::errc{} && parsed.ptr == end) return number;
    double real = 0;
    parsed = std::from_chars(text.data(), end, real);
    const bool is_whole = parsed.ec == std::errc{} && parsed.ptr == end && real >= 0 &&
                          real <= 4'294'967'295.0 && std::floor(real) == real;
    if (!is_whole) return std::nullopt;
    return static_cast<std::uint64_t>(real);
}

}  // namespace

void YamlFields::fail(const YAML::Node& node, const std::string& what) {
    if (!error_) error_ = {kInvalidOption, location(source_, line_of(node)) + ": " + what};
}

void YamlFields::fail_value(const Field& field, std::string_view allowed) {
    const std::string value =
        field.value.IsScalar() ? "'" + field.value.Scalar() + "'" : "not a single value";
    fail(field.value, field.name + " is " + value + "; allowed: " + std::string(allowed));
}

std::vector<YamlFields::Field> YamlFields::mapping(const YAML::Node& node, const Keys& keys) {
    std::vector<Field> fields;
    if (has_no_content(node)) return fields;
    const std::string what(keys.what);
    if (!node.IsMap()) {
        fail(node, what + " is no mapping; allowed: a mapping of " + joined(keys.allowed));
        return fields;
    }
    for (const auto& pair : node) {
        if (!pair.first.IsScalar()) {
            fail(pair.first,
                 "config error, key is not of type string; allowed in " + what + ": " +
                     joined(keys.allowed));
            continue;
        }
        const std::string& name = pair.first.Scalar();
        if (!contains(keys.allowed, name) && contains(keys.elsewhere, name)) {
            warnings_.push_back(location(source_, line_of(pair.first)) + ": '" + name +
                                "' has no effect in " + what);
        } else if (!contains(keys.allowed, name)) {
            fail(pair.first,
                 "config error, unknown key '" + name + "'; allowed in " + what + ": " +
                     joined(keys.allowed));
        } else if (std::ranges::find(fields, name, &Field::name) != fields.end()) {
            fail(pair.first, "the key '" + name + "' occurs twice; allowed: once");
        } else {
            fields.push_back({name, pair.second});
        }
    }
    return fields;
}

std::vector<YAML::Node> YamlFields::list(const Field& field) {
    std::vector<YAML::Node> items;
    if (has_no_content(field.value)) return items;
    if (!field.value.IsSequence()) {
        fail(field.value, field.name + " is no list; allowed: a list of mappings");
        return items;
    }
    for (const auto& item : field.value) {
        if (!item.IsMap()) {
            fail(item,
                 "config error, yaml file contains list of type other than map: " + field.name +
                     "; allowed: a list of mappings");
        }
        items.push_back(item);
    }
    return items;
}

std::string YamlFields::text(const Field& field) {
    if (has_no_content(field.value)) return {};
    if (field.value.IsScalar()) return field.value.Scalar();
    fail_value(field, "a text");
    return {};
}

bool YamlFields::boolean(const Field& field) {
    if (has_no_content(field.value)) return false;
    bool value = false;
    if (field.value.IsScalar() && YAML::convert<bool>::decode(field.value, value)) return value;
    fail_value(field, "true or false");
    return false;
}

std::uint32_t YamlFields::number(const Field& field) {
    if (has_no_content(field.value)) return 0;
    const auto value = field.value.IsScalar() ? whole_number(field.value.Scalar()) : std::nullopt;
    if (value && *value <= 0xFFFFFFFFU) return static_cast<std::uint32_t>(*value);
    fail_value(field, "a whole number from 0 to 4294967295");
    return 0;
}

std::chrono::milliseconds YamlFields::duration(const Field& field) {
    const auto value =
        field.value.IsScalar() ? config::parse_duration(field.value.Scalar()) : std::nullopt;
    if (value) return *value;
    fail_value(field, "a time such as 30s, 5m, 1h or 30d");
    return {};
}

MetadataFields YamlFields::metadata(const Field& field) {
    if (!field.value.IsMap()) {
        fail_value(field, "a mapping");
        return {};
    }
    return metadata_fields(field.value, 0);
}

MetadataFields YamlFields::metadata_fields(const YAML::Node& node, int depth) {
    MetadataFields fields;
    for (const auto& pair : node) {
        if (!pair.first.IsScalar()) {
            fail(pair.first, "a key of metadata is no text; allowed: texts");
            continue;
        }
        const std::string& name = pair.first.Scalar();
        if (std::ranges::find(fields, name, &MetadataField::name) != fields.end())
            fail(pair.first, "the key '" + name + "' occurs twice; allowed: once");
        fields.push_back({name, metadata_value(pair.second, depth + 1)});
    }
    return fields;
}

// Plain scalars have the types of JSON; quoted ones are texts.
MetadataValue YamlFields::metadata_value(const YAML::Node& node, int depth) {
    if (depth > kMaxMetadataDepth || ++metadata_values_ > kMaxMetadataValues) {
        fail(node, "metadata is larger; allowed: 10000 values, nested 16 deep");
        return {};
    }
    if (has_no_content(node)) return {};
    if (node.IsMap()) return {metadata_fields(node, depth)};
    if (node.IsSequence()) {
        MetadataValue::List values;
        for (const auto& item : node)
            values.push_back(metadata_value(item, depth + 1));
        return {std::move(values)};
    }
    const std::string& text = node.Scalar();
    const bool is_quoted = node.Tag() == "!";
    bool boolean = false;
    if (!is_quoted && YAML::convert<bool>::decode(node, boolean)) return {boolean};
    double number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
    if (!is_quoted && is_number && std::isfinite(number)) return {number};
    return {text};
}

}  // namespace sluice::rls
