// The head of a request: request line and fields, and what they say about the body.
#ifndef SLUICE_HTTP_WIRE_HEAD_PARSER_H_
#define SLUICE_HTTP_WIRE_HEAD_PARSER_H_

#include <cstdint>
#include <string_view>

#include "http/wire/exchange.h"

namespace sluice::http {

// Why a request is refused. The connection can't be used any further.
struct ProtocolError {
    int status = 0;  // 0: there is none
    std::string_view detail;
};

enum class BodyFraming { kLength, kChunked };

// What follows the head, and what to do after the exchange.
struct HeadFacts {
    BodyFraming framing = BodyFraming::kLength;
    std::uint64_t content_length = 0;
    bool keep_alive = false;
    bool expects_continue = false;
};

// Reads `head`, which ends with its empty line and has neither bare LFs nor folded lines, into
// `request` and `facts`. Nothing is copied: the request's views point into `head`.
//
// Beast's parser does the reading. It lets some things through that another server in front might
// read in another way, and those are refused here: a repeated Content-Length or a list of lengths,
// a repeated Authorization, a transfer coding other than chunked (Beast takes such a request for
// one without a body), and codings in HTTP/1.0.
ProtocolError parse_head(std::string_view head, RequestView& request, HeadFacts& facts);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_HEAD_PARSER_H_
