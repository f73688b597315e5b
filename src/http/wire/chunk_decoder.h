// The chunked transfer coding, decoded where it lies.
#ifndef SLUICE_HTTP_WIRE_CHUNK_DECODER_H_
#define SLUICE_HTTP_WIRE_CHUNK_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "http/wire/head_parser.h"
#include "http/wire/limits.h"

namespace sluice::http {

// Decodes one chunked body step by step, moving the content together over its framing. Extensions
// and trailers are checked and dropped. A line ends with CRLF and nothing else, sizes are bare hex
// digits.
//
//     ChunkDecoder decoder;
//     while (decoder.step(bytes, limits) == ChunkDecoder::Outcome::kNeedMore) append_to(bytes);
//     body = bytes.first(decoder.content()); rest = bytes.subspan(decoder.used());
class ChunkDecoder {
  public:
    enum class Outcome { kNeedMore, kDone, kError };

    // `bytes` starts with the body's first byte, which may lie elsewhere at each call, and holds
    // what the last call left and what came since. On kNeedMore it is shortened by the framing that
    // was taken out.
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

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_CHUNK_DECODER_H_
