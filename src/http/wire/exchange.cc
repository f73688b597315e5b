#include "http/wire/exchange.h"

#include <algorithm>

#include "http/wire/characters.h"

namespace sluice::http {

const HeaderField* RequestView::find(std::string_view name) const {
    for (const HeaderField& field : headers()) {
        if (equal_in_any_case(field.name, name)) return &field;
    }
    return nullptr;
}

std::string_view RequestView::header(std::string_view name) const {
    const HeaderField* field = find(name);
    return field == nullptr ? std::string_view() : field->value;
}

void RequestView::copy_headers(const RequestView& from,
                               std::span<const std::string_view> names,
                               std::string& texts) {
    texts.clear();
    std::size_t size = 0;
    for (const std::string_view name : names)
        size += from.header(name).size();
    texts.reserve(size);  // so that what is in it stays where it is
    field_count_ = 0;
    for (const std::string_view name : names) {
        if (!from.has_header(name)) continue;
        const std::size_t start = texts.size();
        texts += from.header(name);
        fields_[field_count_++] = {name, std::string_view(texts).substr(start)};
    }
}

void Reply::begin(int status, std::string_view content_type) {
    status_ = status;
    fields_.clear();
    body_.clear();
    if (!content_type.empty()) header("Content-Type", content_type);
}

namespace {

void append_text(std::string& to, std::string_view text) {
    const std::size_t start = to.size();
    to += text;
    const auto ends_line = [](char c) { return c == '\r' || c == '\n'; };
    std::replace_if(to.begin() + static_cast<std::ptrdiff_t>(start), to.end(), ends_line, ' ');
}

}  // namespace

void Reply::header(std::string_view name, std::string_view value) {
    append_text(fields_, name);
    fields_ += ": ";
    append_text(fields_, value);
    fields_ += "\r\n";
}

}  // namespace sluice::http
