#include "grpc/message_reader.h"

#include <algorithm>
#include <array>

namespace sluice::grpc {

namespace {

std::size_t byte_at(const std::string& text, std::size_t place) {
    return static_cast<unsigned char>(text[place]);
}

}  // namespace

void write_prefix(std::size_t message_size, char* to) {
    to[0] = 0;
    for (std::size_t i = 1; i < kPrefixSize; ++i)
        to[i] = static_cast<char>(message_size >> (8 * (kPrefixSize - 1 - i)));
}

void append_message(std::string_view message, std::string& out) {
    std::array<char, kPrefixSize> prefix;
    write_prefix(message.size(), prefix.data());
    out.append(prefix.data(), prefix.size());
    out += message;
}

MessageReader::Outcome MessageReader::read(std::string_view& bytes, std::size_t max_size) {
    if (is_complete_) {
        buffer_.clear();
        is_complete_ = false;
    }
    if (buffer_.size() < kPrefixSize) {
        const Outcome outcome = read_prefix(bytes, max_size);
        if (outcome != Outcome::kMessage) return outcome;
    }
    take(bytes, kPrefixSize + length_ - buffer_.size());
    is_complete_ = buffer_.size() == kPrefixSize + length_;
    return is_complete_ ? Outcome::kMessage : Outcome::kNeedMore;
}

// kMessage: the prefix is complete and valid.
MessageReader::Outcome MessageReader::read_prefix(std::string_view& bytes, std::size_t max_size) {
    take(bytes, kPrefixSize - buffer_.size());
    if (buffer_.size() < kPrefixSize) return Outcome::kNeedMore;
    if (byte_at(buffer_, 0) == 1) return Outcome::kCompressed;
    if (byte_at(buffer_, 0) != 0) return Outcome::kInvalid;
    length_ = byte_at(buffer_, 1) << 24U | byte_at(buffer_, 2) << 16U | byte_at(buffer_, 3) << 8U |
              byte_at(buffer_, 4);
    return length_ > max_size ? Outcome::kTooLarge : Outcome::kMessage;
}

void MessageReader::take(std::string_view& bytes, std::size_t size) {
    const std::size_t taken = std::min(size, bytes.size());
    buffer_.append(bytes.data(), taken);
    bytes.remove_prefix(taken);
}

void MessageReader::reset(std::size_t kept) {
    buffer_.clear();
    if (buffer_.capacity() > kept) std::string().swap(buffer_);
    is_complete_ = false;
}

}  // namespace sluice::grpc
