// Values of gRPC's header fields.
#ifndef SLUICE_GRPC_HEADER_VALUES_H_
#define SLUICE_GRPC_HEADER_VALUES_H_

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::grpc {

// Parses grpc-timeout: 1 to 8 digits and one of the units H, M, S, m, u and n. None if it is
// malformed.
std::optional<std::chrono::nanoseconds> parse_timeout(std::string_view text);

// True for "application/grpc", alone or followed by a format ("+proto") or a parameter (";").
// Formats other than proto are refused.
bool is_grpc_content_type(std::string_view text);

// The value of grpc-message: bytes outside of visible ASCII and '%' as %XX. Long messages are cut.
std::string percent_encode(std::string_view message);
// The reverse; sequences that are no encoding are kept.
std::string percent_decode(std::string_view text);

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_HEADER_VALUES_H_
