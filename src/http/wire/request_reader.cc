#include "http/wire/request_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/rfc7230.hpp>

#include "http/wire/characters.h"

namespace sluice::http {

namespace beast_http = boost::beast::http;
using beast_http::field;
using boost::beast::error_code;

namespace {

constexpr ProtocolError kHeadTooLong{431, "The head of the request is too long."};

}  // namespace

RequestReader::Outcome RequestReader::read(std::span<char>& bytes, RequestView& request) {
    if (error_.status != 0) return Outcome::kError;
    bool has_view = false;
    if (part_ != Part::kBody) {
        request.forget_headers();
        if (!find_head_end(bytes)) return error_.status != 0 ? Outcome::kError : Outcome::kNeedMore;
        if (!accept_head(bytes, request)) return Outcome::kError;
        has_view = true;
    }
    const Outcome outcome = read_body(bytes);
    if (outcome == Outcome::kNeedMore) return outcome;
    if (!has_view) {
        // The head was parsed in memory that may have moved since. The bytes are the same, so
        // parsing can't fail.
        parse_head(head_of(bytes), request, facts_);
    }
    if (outcome == Outcome::kError) return outcome;
    return finish(bytes, request);
}

// Checks the lines that are complete. True when the head is.
bool RequestReader::find_head_end(std::span<const char> bytes) {
    part_ = bytes.empty() ? Part::kNothing : Part::kHead;
    // Fails fast for a client that speaks another protocol, rather than by timeout.
    if (!bytes.empty() && !is_token_char(bytes[0]) && bytes[0] != '\r') {
        return fail({400, "The request does not start with a method."});
    }
    while (scanned_ < bytes.size()) {
        const void* found = std::memchr(bytes.data() + scanned_, '\n', bytes.size() - scanned_);
        if (found == nullptr) {
            scanned_ = bytes.size();
            break;
        }
        const auto line_end =
            static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data()) + 1;
        const std::string_view line(bytes.data() + head_end_, line_end - head_end_);
        if (line_end - head_start_ > limits_->header) return fail(kHeadTooLong);
        if (!check_line(line)) return false;
        const bool is_first = head_end_ == head_start_;
        head_end_ = scanned_ = line_end;
        if (line.size() > 2) continue;
        if (!is_first) return true;
        // RFC 9112 asks servers to skip an empty line before a request. A second one is an error.
        if (head_start_ != 0) return fail({400, "The request line is empty."});
        head_start_ = line_end;
    }
    if (bytes.size() - head_start_ > limits_->header) return fail(kHeadTooLong);
    return false;
}

bool RequestReader::check_line(std::string_view line) {
    if (line.size() < 2 || line[line.size() - 2] != '\r') {
        return fail({400, "Lines of the head must end with CRLF."});
    }
    if (line.size() > 2 && line[0] == '\r')
        return fail({400, "A line of the head starts with CR."});
    if (is_blank(line[0])) return fail({400, "A line of the head starts with white space."});
    return true;
}

bool RequestReader::accept_head(std::span<const char> bytes, RequestView& request) {
    const ProtocolError error = parse_head(head_of(bytes), request, facts_);
    if (error.status != 0) return fail(error);
    if (facts_.content_length > limits_->body) return fail({413, "The body is too long."});
    part_ = Part::kBody;
    chunks_ = {};
    expects_continue_ = facts_.expects_continue;
    return true;
}

RequestReader::Outcome RequestReader::read_body(std::span<char>& bytes) {
    const std::size_t arrived = bytes.size() - head_end_;
    if (facts_.framing == BodyFraming::kLength) {
        body_size_ = facts_.content_length;
        used_ = head_end_ + body_size_;
        return arrived >= body_size_ ? Outcome::kRequest : Outcome::kNeedMore;
    }
    std::span<char> body = bytes.subspan(head_end_);
    const ChunkDecoder::Outcome outcome = chunks_.step(body, *limits_);
    bytes = bytes.first(head_end_ + body.size());
    if (outcome == ChunkDecoder::Outcome::kNeedMore) return Outcome::kNeedMore;
    if (outcome == ChunkDecoder::Outcome::kError) {
        fail(chunks_.error());
        return Outcome::kError;
    }
    body_size_ = chunks_.content();
    used_ = head_end_ + chunks_.used();
    return Outcome::kRequest;
}

RequestReader::Outcome RequestReader::finish(std::span<char> bytes, RequestView& request) {
    request.body = {bytes.data() + head_end_, body_size_};
    part_ = Part::kNothing;
    head_start_ = head_end_ = scanned_ = 0;
    return Outcome::kRequest;
}

bool RequestReader::take_continue() {
    return part_ == Part::kBody && std::exchange(expects_continue_, false);
}

bool RequestReader::fail(ProtocolError error) {
    error_ = error;
    return false;
}

std::string_view RequestReader::head_of(std::span<const char> bytes) const {
    return {bytes.data() + head_start_, head_end_ - head_start_};
}

namespace {

std::string_view view_of(boost::beast::string_view text) {
    return {text.data(), text.size()};
}

constexpr ProtocolError kBadSyntax{400, "The head of the request is malformed."};

// Returns 400 for a malformed list of codings, 501 for unknown codings.
ProtocolError coding_error(std::string_view value) {
    bool has_unknown = false;
    for (;;) {
        const std::size_t end = std::min(value.find(','), value.size());
        std::string_view coding = trim(value.substr(0, end));
        if (coding.empty() || !std::all_of(coding.begin(), coding.end(), is_token_char)) {
            return {400, "Transfer-Encoding is malformed."};
        }
        has_unknown |= !equal_in_any_case(coding, "chunked");
        if (end == value.size()) break;
        value.remove_prefix(end + 1);
    }
    if (has_unknown) return {501, "The only transfer coding that this server knows is chunked."};
    return {400, "Transfer-Encoding names chunked more than once."};
}

// True for a well-formed version other than 1.0 and 1.1, such as HTTP/2.0.
bool names_other_version(std::string_view head) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    if (line.size() < 9) return false;
    const std::string_view version = line.substr(line.size() - 9);
    return version.starts_with(" HTTP/") && is_digit(version[6]) && version[7] == '.' &&
           is_digit(version[8]) && version != " HTTP/1.0" && version != " HTTP/1.1";
}

}  // namespace

class HeadParser : public beast_http::basic_parser<true> {
  public:
    HeadParser(RequestView& request, HeadFacts& facts) : request_(request), facts_(facts) {
        request_.field_count_ = 0;
        // Beast must not parse the body; the caller has checked the size of the head.
        skip(true);
        header_limit(UINT32_MAX);
    }

    ProtocolError parse(std::string_view head) {
        error_code failure;
        const std::size_t used = put(boost::asio::const_buffer(head.data(), head.size()), failure);
        if (error_.status != 0) return error_;
        if (failure == beast_http::error::bad_version && names_other_version(head)) {
            return {505, "This server speaks HTTP/1.1 and HTTP/1.0."};
        }
        if (failure == beast_http::error::bad_content_length ||
            failure == beast_http::error::multiple_content_length) {
            return kBadLength;
        }
        if (failure == beast_http::error::bad_transfer_encoding) return kTwoFramings;
        if (failure || used != head.size() || !is_done()) return kBadSyntax;
        facts_.keep_alive = keep_alive();
        facts_.content_length = content_length().value_or(0);
        return whole_head_error();
    }

  private:
    static constexpr ProtocolError kBadLength{400, "Content-Length must be given once, as digits."};
    static constexpr ProtocolError kTwoFramings{
        400,
        "Content-Length and Transfer-Encoding exclude each other, and each may be given once."};

    void on_request_impl(beast_http::verb,
                         boost::beast::string_view method,
                         boost::beast::string_view target,
                         int version,
                         error_code& failure) override {
        request_.method = view_of(method);
        request_.minor_version = version - 10;
        if (!split_target(view_of(target)))
            refuse({400, "The request target is malformed."}, failure);
    }

    // Accepts the origin form, the absolute form, which proxies send, and the asterisk of OPTIONS.
    bool split_target(std::string_view target) {
        if (!target.starts_with('/')) {
            for (const std::string_view scheme : {"http://", "https://"}) {
                if (!equal_in_any_case(target.substr(0, scheme.size()), scheme)) continue;
                target.remove_prefix(
                    std::min(target.find_first_of("/?", scheme.size()), target.size()));
                return split_path(target.empty() ? "/" : target);
            }
            if (target != "*" && request_.method != "CONNECT") return false;
        }
        return split_path(target);
    }

    bool split_path(std::string_view target) {
        const std::size_t question = target.find('?');
        const bool has_query = question != std::string_view::npos;
        request_.path = question == 0 ? "/" : target.substr(0, question);
        request_.query = has_query ? target.substr(question + 1) : std::string_view();
        return target.find('#') == std::string_view::npos;
    }

    void on_field_impl(field id,
                       boost::beast::string_view name,
                       boost::beast::string_view value,
                       error_code& failure) override {
        if (request_.field_count_ == RequestView::kMaxHeaders) {
            return refuse({431, "The request has more than 100 header fields."}, failure);
        }
        request_.fields_[request_.field_count_++] = {view_of(name), view_of(value)};
        switch (id) {
            case field::content_length:
                return on_length(view_of(value), failure);
            case field::transfer_encoding:
                return on_coding(view_of(value), failure);
            case field::expect:
                return on_expect(view_of(value), failure);
            case field::host:
                ++hosts_;
                return;
            case field::authorization:
                if (std::exchange(has_authorization_, true)) {
                    refuse({400, "A request may have one Authorization field."}, failure);
                }
                return;
            default:
                return;
        }
    }

    // Beast has parsed the number, but accepts lists and repetitions.
    void on_length(std::string_view value, error_code& failure) {
        if (has_length_ || !std::all_of(value.begin(), value.end(), http::is_digit)) {
            return refuse(kBadLength, failure);
        }
        has_length_ = true;
    }

    void on_coding(std::string_view value, error_code& failure) {
        if (facts_.framing == BodyFraming::kChunked) return refuse(kTwoFramings, failure);
        if (!equal_in_any_case(value, "chunked")) return refuse(coding_error(value), failure);
        facts_.framing = BodyFraming::kChunked;
    }

    void on_expect(std::string_view value, error_code& failure) {
        if (!equal_in_any_case(value, "100-continue")) {
            return refuse({417, "The only expectation that this server meets is 100-continue."},
                          failure);
        }
        facts_.expects_continue = request_.minor_version >= 1;
    }

    ProtocolError whole_head_error() const {
        const bool is_chunked = facts_.framing == BodyFraming::kChunked;
        if (is_chunked && has_length_) return kTwoFramings;
        if (is_chunked && request_.minor_version == 0) {
            return {400, "HTTP/1.0 has no transfer codings."};
        }
        if (hosts_ > 1 || (hosts_ == 0 && request_.minor_version >= 1)) {
            return {400, "A request needs exactly one Host field."};
        }
        return {};
    }

    void refuse(ProtocolError error, error_code& failure) {
        error_ = error;
        failure = beast_http::error::bad_value;
    }

    // Callbacks for responses and bodies, which are never parsed here.
    void on_response_impl(int, boost::beast::string_view, int, error_code&) override {}
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(boost::beast::string_view, error_code&) override { return 0; }
    void on_chunk_header_impl(std::uint64_t, boost::beast::string_view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, boost::beast::string_view, error_code&) override {
        return 0;
    }
    void on_finish_impl(error_code&) override {}

    RequestView& request_;
    HeadFacts& facts_;
    ProtocolError error_;
    int hosts_ = 0;
    bool has_length_ = false;
    bool has_authorization_ = false;
};

ProtocolError parse_head(std::string_view head, RequestView& request, HeadFacts& facts) {
    facts = {};
    return HeadParser(request, facts).parse(head);
}

namespace {

int hex_value(char c) {
    if (is_digit(c)) return c - '0';
    const char lower = to_lower(c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

ChunkDecoder::Outcome ChunkDecoder::step(std::span<char>& bytes, const WireLimits& limits) {
    while (used_ < bytes.size() && state_ != State::kDone && state_ != State::kFailed) {
        if (state_ == State::kData) {
            take_data(bytes);
        } else {
            state_ = next(bytes[used_++], limits);
        }
    }
    if (state_ == State::kDone) return Outcome::kDone;
    if (state_ == State::kFailed) return Outcome::kError;
    // All bytes were consumed, so those behind the content were framing.
    bytes = bytes.first(content_);
    used_ = content_;
    return Outcome::kNeedMore;
}

void ChunkDecoder::take_data(std::span<char> bytes) {
    const std::size_t size = std::min(chunk_, bytes.size() - used_);
    std::memmove(bytes.data() + content_, bytes.data() + used_, size);
    content_ += size;
    used_ += size;
    chunk_ -= size;
    if (chunk_ == 0) state_ = State::kDataCr;
}

ChunkDecoder::State ChunkDecoder::next(char c, const WireLimits& limits) {
    switch (state_) {
        case State::kSizeStart:
        case State::kSize:
        case State::kExtension:
        case State::kSizeLf:
            return next_of_size(c, limits);
        case State::kDataCr:
            if (c == '\r') return State::kDataLf;
            return fail(400, "A chunk is longer than its size says.");
        case State::kDataLf:
            if (c == '\n') return State::kSizeStart;
            return fail(400, "A chunk must end with CRLF.");
        default:
            if (++overhead_ > limits.header)
                return fail(431, "The trailers of the body are too long.");
            return next_of_trailer(c);
    }
}

ChunkDecoder::State ChunkDecoder::next_of_size(char c, const WireLimits& limits) {
    if (state_ == State::kSizeLf) {
        if (c != '\n') return fail(400, "The line of a chunk's size must end with CRLF.");
        return chunk_ == 0 ? State::kTrailerStart : State::kData;
    }
    if (state_ == State::kExtension) {
        if (c == '\r') return State::kSizeLf;
        if (!is_text_char(c)) return fail(400, "A chunk extension holds a control character.");
        if (++overhead_ > limits.header) return fail(431, "The chunk extensions are too long.");
        return State::kExtension;
    }
    const int digit = hex_value(c);
    if (digit >= 0) {
        chunk_ = (state_ == State::kSizeStart ? 0 : chunk_ * 16) + static_cast<std::size_t>(digit);
        // Checked at each digit, so it can't overflow. Leading zeros count as overhead.
        if (chunk_ > limits.body - content_) return fail(413, "The body is too long.");
        if (chunk_ == 0 && ++overhead_ > limits.header)
            return fail(400, "A chunk's size is too long.");
        return State::kSize;
    }
    if (state_ == State::kSize && c == '\r') return State::kSizeLf;
    if (state_ == State::kSize && c == ';') return State::kExtension;
    return fail(400, "A chunk's size must be hexadecimal digits.");
}

ChunkDecoder::State ChunkDecoder::next_of_trailer(char c) {
    switch (state_) {
        case State::kTrailerStart:
            if (c == '\r') return State::kEndLf;
            if (is_token_char(c)) return State::kTrailerName;
            break;
        case State::kTrailerName:
            if (c == ':') return State::kTrailerValue;
            if (is_token_char(c)) return State::kTrailerName;
            break;
        case State::kTrailerValue:
            if (c == '\r') return State::kTrailerLf;
            if (is_text_char(c)) return State::kTrailerValue;
            break;
        case State::kTrailerLf:
            if (c == '\n') return State::kTrailerStart;
            break;
        default:
            if (c == '\n') return State::kDone;
            break;
    }
    return fail(400, "A trailer of the body is malformed.");
}

ChunkDecoder::State ChunkDecoder::fail(int status, std::string_view detail) {
    error_ = {status, detail};
    return State::kFailed;
}

}  // namespace sluice::http
