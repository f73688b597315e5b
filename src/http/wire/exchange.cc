#include "http/wire/exchange.h"

#include <utility>

#include "http/wire/characters.h"
#include "http/wire/connection.h"

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
    texts.reserve(size);  // so that views into it stay valid
    field_count_ = 0;
    for (const std::string_view name : names) {
        if (!from.has_header(name)) continue;
        const std::size_t start = texts.size();
        texts += from.header(name);
        fields_[field_count_++] = {name, std::string_view(texts).substr(start)};
    }
}

void PendingExchange::end(State how) {
    const State before = std::exchange(state_, how);
    if (before != State::kWaiting) return;
    if (connection_ == nullptr) {
        delete this;
    } else {
        connection_->on_answered();
    }
}

void Completion::operator()() {
    if (exchange_ != nullptr) {
        std::exchange(exchange_, nullptr)->end(PendingExchange::State::kAnswered);
    }
}

void Completion::drop() {
    exchange_->end(PendingExchange::State::kAbandoned);
}

}  // namespace sluice::http
