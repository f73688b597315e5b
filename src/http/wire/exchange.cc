#include "http/wire/exchange.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <utility>

#include "http/wire/characters.h"
#include "http/wire/connection.h"

namespace sluice::http {

namespace {

void append_text(std::string& to, std::string_view text) {
    const std::size_t start = to.size();
    to += text;
    const auto ends_line = [](char c) { return c == '\r' || c == '\n'; };
    std::replace_if(to.begin() + static_cast<std::ptrdiff_t>(start), to.end(), ends_line, ' ');
}

void append_number(std::string& out, std::size_t number) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), end);
}

void append_status_line(std::string& out, int status) {
    if (status == 200) {
        out += "HTTP/1.1 200 OK\r\n";
        return;
    }
    out += "HTTP/1.1 ";
    append_number(out, static_cast<std::size_t>(status));
    out += ' ';
    out += reason_of(status);
    out += "\r\n";
}

std::string_view connection_field(ReplyFraming framing) {
    if (framing.after == AfterReply::kClose) return "Connection: close\r\n";
    return framing.minor_version == 0 ? "Connection: keep-alive\r\n" : "";
}

}  // namespace

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

void Reply::begin(int status, std::string_view content_type) {
    status_ = status;
    fields_.clear();
    body_.clear();
    if (!content_type.empty()) header("Content-Type", content_type);
}

void Reply::header(std::string_view name, std::string_view value) {
    append_text(fields_, name);
    fields_ += ": ";
    append_text(fields_, value);
    fields_ += "\r\n";
}

void ReplyWriter::set_time(std::chrono::sys_seconds now) {
    if (now == now_) return;
    now_ = now;
    const std::time_t seconds = now.time_since_epoch().count();
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    // strftime() would use the names of the locale.
    static constexpr std::array kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr std::array kMonths{
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    std::array<char, 64> text;
    const int size = std::snprintf(text.data(),
                                   text.size(),
                                   "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n",
                                   kDays[static_cast<std::size_t>(parts.tm_wday)],
                                   parts.tm_mday,
                                   kMonths[static_cast<std::size_t>(parts.tm_mon)],
                                   parts.tm_year + 1900,
                                   parts.tm_hour,
                                   parts.tm_min,
                                   parts.tm_sec);
    date_.assign(text.data(), static_cast<std::size_t>(size));
}

void ReplyWriter::write(const Reply& reply, ReplyFraming framing, std::string& out) const {
    const int status = reply.status();
    const bool has_no_body = status < 200 || status == 204 || status == 304;
    append_status_line(out, status);
    out += date_;
    out += reply.fields();
    if (!has_no_body && !framing.is_stream) {
        out += "Content-Length: ";
        append_number(out, reply.body().size());
        out += "\r\n";
    }
    out += connection_field(framing);
    out += "\r\n";
    if (!has_no_body && !framing.head_only) out += reply.body();
}

std::string_view reason_of(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 201:
            return "Created";
        case 202:
            return "Accepted";
        case 204:
            return "No Content";
        case 304:
            return "Not Modified";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 406:
            return "Not Acceptable";
        case 408:
            return "Request Timeout";
        case 409:
            return "Conflict";
        case 410:
            return "Gone";
        case 412:
            return "Precondition Failed";
        case 413:
            return "Content Too Large";
        case 415:
            return "Unsupported Media Type";
        case 417:
            return "Expectation Failed";
        case 421:
            return "Misdirected Request";
        case 422:
            return "Unprocessable Content";
        case 429:
            return "Too Many Requests";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 501:
            return "Not Implemented";
        case 503:
            return "Service Unavailable";
        case 504:
            return "Gateway Timeout";
        case 505:
            return "HTTP Version Not Supported";
        default:
            return "Unknown";
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

bool PendingExchange::send(std::string_view piece) {
    if (state_ != State::kWaiting) return is_open();
    return connection_ != nullptr && connection_->send_piece(piece);
}

ReplyStream::ReplyStream(Completion completion) : completion_(std::move(completion)) {
    if (completion_.exchange_ != nullptr) completion_.exchange_->is_stream = true;
}

bool ReplyStream::send(std::string_view piece) {
    return completion_.exchange_ != nullptr && completion_.exchange_->send(piece);
}

bool ReplyStream::is_open() const {
    return completion_.exchange_ != nullptr && completion_.exchange_->is_open();
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
