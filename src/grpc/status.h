// gRPC status codes.
#ifndef SLUICE_GRPC_STATUS_H_
#define SLUICE_GRPC_STATUS_H_

#include <cstdint>
#include <string>

namespace sluice::grpc {

// Numbers as the gRPC protocol defines them.
enum class Code : std::uint8_t {
    kOk = 0,
    kCancelled = 1,
    kUnknown = 2,
    kInvalidArgument = 3,
    kDeadlineExceeded = 4,
    kNotFound = 5,
    kAlreadyExists = 6,
    kPermissionDenied = 7,
    kResourceExhausted = 8,
    kFailedPrecondition = 9,
    kAborted = 10,
    kOutOfRange = 11,
    kUnimplemented = 12,
    kInternal = 13,
    kUnavailable = 14,
    kDataLoss = 15,
    kUnauthenticated = 16,
};

// The outcome of a call. The message is any text; it is percent-encoded on the wire.
struct Status {
    Code code = Code::kOk;
    std::string message{};

    bool operator==(const Status&) const = default;
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_STATUS_H_
