#include "metrics/text.h"

#include <array>
#include <charconv>

#include "base/utf8.h"

namespace sluice::metrics {
namespace {

std::string_view text_of(Type type) {
    switch (type) {
        case Type::kCounter:
            return "counter";
        case Type::kGauge:
            return "gauge";
        case Type::kHistogram:
            return "histogram";
    }
    return "untyped";
}

// A client's text may hold any bytes, and one that is not UTF-8 would make the page unreadable.
void append_escaped(std::string& out, std::string_view value) {
    for (const char c : to_utf8(value)) {
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (c == '\\' || c == '"') out += '\\';
        out += c;
    }
}

}  // namespace

void Text::begin(const Name& name) {
    name_ = name.name;
    out_.append("# HELP ").append(name.name).append(" ").append(name.help).append("\n");
    out_.append("# TYPE ").append(name.name).append(" ").append(text_of(name.type)).append("\n");
}

void Text::write_name(Labels labels, std::string_view suffix) {
    out_.append(name_).append(suffix);
    char separator = '{';
    for (const Label& label : labels) {
        out_ += separator;
        out_.append(label.name).append("=\"");
        append_escaped(out_, label.value);
        out_ += '"';
        separator = ',';
    }
    if (separator == ',') out_ += '}';
}

void Text::sample(Labels labels, std::uint64_t value, std::string_view suffix) {
    write_name(labels, suffix);
    out_.append(" ").append(std::to_string(value)).append("\n");
}

void Text::sample(Labels labels, double value, std::string_view suffix) {
    write_name(labels, suffix);
    out_.append(" ").append(to_text(value)).append("\n");
}

void Text::single(const Name& name, std::uint64_t value) {
    begin(name);
    sample({}, value);
}

std::string to_text(double value) {
    std::array<char, 32> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc{} ? std::string(digits.data(), end) : "NaN";
}

}  // namespace sluice::metrics
