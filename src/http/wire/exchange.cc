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
