#include "http/wire/request_reader.h"

#include <cstring>
#include <string_view>

#include "http/wire/characters.h"

namespace sluice::http {

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
        // The head was read when it came, in memory that is gone. It is the same, so that it can't
        // fail.
        parse_head(head_of(bytes), request, facts_);
    }
    if (outcome == Outcome::kError) return outcome;
    return finish(bytes, request);
}

// Goes on over the lines that are complete. True when the head is.
bool RequestReader::find_head_end(std::span<const char> bytes) {
    part_ = bytes.empty() ? Part::kNothing : Part::kHead;
    // Without this, a client that speaks another protocol would be left waiting for its timeout.
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
        // One empty line before a request is an old habit of clients. It is skipped, a second one
        // is not.
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

}  // namespace sluice::http
