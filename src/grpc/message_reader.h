// Length-prefixed messages: the framing of gRPC inside of an HTTP/2 stream.
#ifndef SLUICE_GRPC_MESSAGE_READER_H_
#define SLUICE_GRPC_MESSAGE_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/allocated_bytes.h"

namespace sluice::grpc {

// A flag and the length of the message, big-endian.
inline constexpr std::size_t kPrefixSize = 5;

// Writes the prefix of an uncompressed message to `to`, which has kPrefixSize bytes.
void write_prefix(std::size_t message_size, char* to);
void append_message(std::string_view message, std::string& out);

// Splits the bytes of a stream into messages. Buffers at most one message, in memory that grows
// with the bytes that have arrived, not with the length that was announced.
//
// Thread-compatible.
class MessageReader {
  public:
    enum class Outcome : std::uint8_t {
        kNeedMore,
        kMessage,
        kCompressed,  // the flag is 1
        kInvalid,     // the flag is neither 0 nor 1
        kTooLarge,
    };

    // Consumes bytes from the front of `bytes`, up to the end of a message. After an error nothing
    // more may be read.
    Outcome read(std::string_view& bytes, std::size_t max_size);

    // The message after kMessage; valid until the next read().
    std::string_view message() const { return std::string_view(buffer_).substr(kPrefixSize); }
    // True inside of a message or its prefix.
    bool is_partial() const { return !is_complete_ && !buffer_.empty(); }

    // The memory that it has allocated.
    std::size_t held_bytes() const { return allocated_bytes(buffer_); }
    // Starts over; keeps a buffer of up to `kept` bytes.
    void reset(std::size_t kept);

  private:
    Outcome read_prefix(std::string_view& bytes, std::size_t max_size);
    void take(std::string_view& bytes, std::size_t size);

    std::string buffer_;  // prefix and message
    std::size_t length_ = 0;
    bool is_complete_ = false;
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_MESSAGE_READER_H_
