#include "rls/metadata.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <protozero/pbf_writer.hpp>

#include "base/json_text.h"

namespace sluice::rls {
namespace {

// Field numbers of google.protobuf.Struct, its map entries, Value and ListValue.
constexpr protozero::pbf_tag_type kStructFields = 1;
constexpr protozero::pbf_tag_type kEntryKey = 1;
constexpr protozero::pbf_tag_type kEntryValue = 2;
constexpr protozero::pbf_tag_type kNullValue = 1;
constexpr protozero::pbf_tag_type kNumberValue = 2;
constexpr protozero::pbf_tag_type kStringValue = 3;
constexpr protozero::pbf_tag_type kBoolValue = 4;
constexpr protozero::pbf_tag_type kStructValue = 5;
constexpr protozero::pbf_tag_type kListValue = 6;
constexpr protozero::pbf_tag_type kListValues = 1;

void write_fields(protozero::pbf_writer& out, const MetadataFields& fields);

// Writes the fields of a google.protobuf.Value.
class ProtobufWriter {
  public:
    explicit ProtobufWriter(protozero::pbf_writer& out) : out_(out) {}

    void operator()(std::nullptr_t) { out_.add_enum(kNullValue, 0); }
    void operator()(bool value) { out_.add_bool(kBoolValue, value); }
    void operator()(double value) { out_.add_double(kNumberValue, value); }
    void operator()(const std::string& value) { out_.add_string(kStringValue, value); }
    // protozero leaves out a message without fields.
    void operator()(const MetadataValue::List& values) {
        if (values.empty()) return out_.add_message(kListValue, "", 0);
        protozero::pbf_writer list(out_, kListValue);
        for (const MetadataValue& value : values) {
            protozero::pbf_writer item(list, kListValues);
            std::visit(ProtobufWriter(item), value.value);
        }
    }
    void operator()(const MetadataFields& fields) {
        if (fields.empty()) return out_.add_message(kStructValue, "", 0);
        protozero::pbf_writer nested(out_, kStructValue);
        write_fields(nested, fields);
    }

  private:
    protozero::pbf_writer& out_;
};

void write_fields(protozero::pbf_writer& out, const MetadataFields& fields) {
    for (const MetadataField& field : fields) {
        protozero::pbf_writer entry(out, kStructFields);
        entry.add_string(kEntryKey, field.name);
        protozero::pbf_writer value(entry, kEntryValue);
        std::visit(ProtobufWriter(value), field.value.value);
    }
}

class JsonAppender {
  public:
    explicit JsonAppender(std::string& out) : out_(out) {}

    void operator()(std::nullptr_t) { out_ += "null"; }
    void operator()(bool value) { out_ += value ? "true" : "false"; }
    void operator()(double value) {
        if (!std::isfinite(value)) return (*this)(nullptr);  // JSON has no such number
        std::array<char, 32> digits{};
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
        out_.append(digits.data(), end);
    }
    void operator()(const std::string& value) { append_json_string(out_, value); }
    void operator()(const MetadataValue::List& values) {
        char separator = '[';
        for (const MetadataValue& value : values) {
            out_ += separator;
            std::visit(*this, value.value);
            separator = ',';
        }
        out_ += values.empty() ? "[]" : "]";
    }
    void operator()(const MetadataFields& fields) { append_json(out_, fields); }

  private:
    std::string& out_;
};

}  // namespace

MetadataValue::MetadataValue() = default;
MetadataValue::MetadataValue(Data data) : value(std::move(data)) {}
MetadataValue::MetadataValue(const MetadataValue&) = default;
MetadataValue::MetadataValue(MetadataValue&&) noexcept = default;
MetadataValue& MetadataValue::operator=(const MetadataValue&) = default;
MetadataValue& MetadataValue::operator=(MetadataValue&&) noexcept = default;
MetadataValue::~MetadataValue() = default;

void merge(const MetadataFields& from, MetadataFields& into) {
    for (const MetadataField& field : from) {
        const auto held = std::ranges::find(into, field.name, &MetadataField::name);
        if (held == into.end()) {
            into.push_back(field);
            continue;
        }
        const auto* const source = std::get_if<MetadataFields>(&field.value.value);
        auto* const target = std::get_if<MetadataFields>(&held->value.value);
        if (source != nullptr && target != nullptr) merge(*source, *target);
    }
}

void append_protobuf(std::string& out, const MetadataFields& fields) {
    protozero::pbf_writer writer(out);
    write_fields(writer, fields);
}

void append_json(std::string& out, const MetadataFields& fields) {
    char separator = '{';
    for (const MetadataField& field : fields) {
        out += separator;
        append_json_string(out, field.name);
        out += ':';
        std::visit(JsonAppender(out), field.value.value);
        separator = ',';
    }
    out += fields.empty() ? "{}" : "}";
}

}  // namespace sluice::rls
