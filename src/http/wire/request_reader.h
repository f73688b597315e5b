// Requests out of the bytes of a connection, without the connection.
#ifndef SLUICE_HTTP_WIRE_REQUEST_READER_H_
#define SLUICE_HTTP_WIRE_REQUEST_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "http/wire/chunk_decoder.h"
#include "http/wire/exchange.h"
#include "http/wire/head_parser.h"
#include "http/wire/limits.h"

namespace sluice::http {

// Finds where requests begin and end. What it makes of the bytes does not depend on how they
// arrive: one by one, or many requests at once.
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

    // `bytes` starts with the current request's first byte: all that kNeedMore left and what came
    // since. They may lie elsewhere at each call. On kNeedMore they may become fewer, since framing
    // is taken out of a chunked body; on kRequest used() of them are done with, and `request`
    // points into them. On kError it holds what was understood of the head.
    Outcome read(std::span<char>& bytes, RequestView& request);

    std::size_t used() const { return used_; }
    bool keep_alive() const { return facts_.keep_alive; }  // of the last request
    ProtocolError error() const { return error_; }

    // After kNeedMore: what of the request is underway.
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
    std::size_t head_end_ = 0;   // up to here lines were checked; in the end, where the body begins
    std::size_t scanned_ = 0;    // up to here there is no LF after head_end_
    std::size_t body_size_ = 0;  // decoded
    std::size_t used_ = 0;
    HeadFacts facts_;
    ChunkDecoder chunks_;
    ProtocolError error_;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_REQUEST_READER_H_
