#include "http/wire/chunk_decoder.h"

#include <algorithm>
#include <cstring>

#include "http/wire/characters.h"

namespace sluice::http {

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
    // All bytes were looked at, so that what lies behind the content was framing.
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
        // Checked at each digit, so that it can't overflow. A size may have any number of leading
        // zeros, each of which counts as overhead.
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
