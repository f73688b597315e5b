// Parsing of HTTP/1.x requests, without I/O: the head, the chunked coding, and where requests end.
#ifndef SLUICE_HTTP_WIRE_REQUEST_READER_H_
#define SLUICE_HTTP_WIRE_REQUEST_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "http/wire/exchange.h"
#include "http/wire/limits.h"

namespace sluice::http {

// Why a request is refused. The connection can't be used any further.
struct ProtocolError {
    int status = 0;  // 0: no error
    std::string_view detail;
};

enum class BodyFraming { kLength, kChunked };

// The properties of a head that determine how its body is read and whether the connection stays.
struct HeadFacts {
    BodyFraming framing = BodyFraming::kLength;
    std::uint64_t content_length = 0;
    bool keep_alive = false;
    bool expects_continue = false;
};

// Parses `head`, which ends with its empty line and has neither bare LFs nor folded lines, into
// `request` and `facts`. Nothing is copied: the request's views point into `head`.
//
// Uses Beast's parser, and refuses what Beast accepts but a proxy might interpret differently: a
// repeated Content-Length or a list of lengths, a repeated Authorization, a transfer coding other
// than chunked (Beast takes such a request for one without a body), and codings in HTTP/1.0.
ProtocolError parse_head(std::string_view head, RequestView& request, HeadFacts& facts);

// Decodes one chunked body in place and incrementally, moving the content over its framing.
// Extensions and trailers are checked and dropped. Lines must end with CRLF, sizes are bare hex
// digits.
//
//     ChunkDecoder decoder;
//     while (decoder.step(bytes, limits) == ChunkDecoder::Outcome::kNeedMore) append_to(bytes);
//     body = bytes.first(decoder.content()); next = bytes.subspan(decoder.used());
class ChunkDecoder {
  public:
    enum class Outcome { kNeedMore, kDone, kError };

    // `bytes` starts with the body's first byte and holds what the last call left, followed by new
    // bytes; it may move between calls. On kNeedMore it is shortened by the framing that was
    // removed.
    Outcome step(std::span<char>& bytes, const WireLimits& limits);

    std::size_t content() const { return content_; }
    std::size_t used() const { return used_; }
    ProtocolError error() const { return error_; }

  private:
    enum class State : std::uint8_t {
        kSizeStart,
        kSize,
        kExtension,
        kSizeLf,
        kData,
        kDataCr,
        kDataLf,
        kTrailerStart,
        kTrailerName,
        kTrailerValue,
        kTrailerLf,
        kEndLf,
        kDone,
        kFailed,
    };

    void take_data(std::span<char> bytes);
    State next(char c, const WireLimits& limits);
    State next_of_size(char c, const WireLimits& limits);
    State next_of_trailer(char c);
    State fail(int status, std::string_view detail);

    State state_ = State::kSizeStart;
    std::size_t content_ = 0;   // decoded bytes, at the front
    std::size_t used_ = 0;      // where undecoded bytes begin
    std::size_t chunk_ = 0;     // what is left of the current chunk, or its size so far
    std::size_t overhead_ = 0;  // bytes of extensions and trailers
    ProtocolError error_;
};

// Splits a stream of bytes into requests. The result does not depend on how the bytes arrive: one
// by one, or many requests at once.
//
// 1. It holds no bytes: between calls the caller keeps those of the unfinished request.
// 2. After kError nothing more can be read.
//
//     while (reader.read(bytes, request) == RequestReader::Outcome::kRequest) {
//         answer(request);
//         bytes = bytes.subspan(reader.used());
//     }
class RequestReader {
  public:
    enum class Outcome { kNeedMore, kRequest, kError };
    enum class Part : std::uint8_t { kNothing, kHead, kBody };

    // `limits` must outlive the reader.
    explicit RequestReader(const WireLimits& limits) : limits_(&limits) {}

    // `bytes` starts with the current request's first byte: all that kNeedMore left, followed by
    // new bytes. They may move between calls. On kNeedMore they may be shortened, since framing is
    // removed from a chunked body. On kRequest the first used() bytes are consumed, and `request`
    // points into them. On kError `request` holds what was understood of the head.
    Outcome read(std::span<char>& bytes, RequestView& request);

    std::size_t used() const { return used_; }
    bool keep_alive() const { return facts_.keep_alive; }  // of the last request
    ProtocolError error() const { return error_; }

    // After kNeedMore: the part of the request that is incomplete.
    Part part() const { return part_; }

    // After kNeedMore: whether the client waits for "100 Continue". True once per request, after
    // the read() that found the end of its head, which `request` then holds.
    bool take_continue();

  private:
    bool find_head_end(std::span<const char> bytes);
    bool check_line(std::string_view line);
    bool accept_head(std::span<const char> bytes, RequestView& request);
    Outcome read_body(std::span<char>& bytes);
    Outcome finish(std::span<char> bytes, RequestView& request);
    bool fail(ProtocolError error);
    std::string_view head_of(std::span<const char> bytes) const;

    const WireLimits* limits_;
    Part part_ = Part::kNothing;
    bool expects_continue_ = false;
    std::size_t head_start_ = 0;  // 2 after an empty line before the request
    std::size_t head_end_ = 0;    // end of the lines checked so far; at last, start of the body
    std::size_t scanned_ = 0;     // no LF from head_end_ up to here
    std::size_t body_size_ = 0;   // decoded
    std::size_t used_ = 0;
    HeadFacts facts_;
    ChunkDecoder chunks_;
    ProtocolError error_;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_REQUEST_READER_H_
