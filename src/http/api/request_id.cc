#include "http/api/request_id.h"

#include <algorithm>

#include <openssl/rand.h>

#include "base/check.h"

namespace sluice::http {
namespace {

constexpr std::string_view kPrefix = "req_";

void write_digits(std::uint64_t number, char* at, std::size_t count) {
    constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
    for (std::size_t i = 0; i < count; ++i, number >>= 5U) {
        at[i] = kAlphabet[number & 31U];
    }
}

}  // namespace

RequestIdSource::RequestIdSource() {
    std::ranges::copy(kPrefix, id_.begin());
}

// The generator fails only where the system has no randomness to seed it with.
std::uint64_t RequestIdSource::next_word() {
    if (used_ == kWords) {
        auto* const bytes = reinterpret_cast<unsigned char*>(random_.data());
        SLUICE_CHECK(RAND_bytes(bytes, sizeof random_) == 1);
        used_ = 0;
    }
    return random_[used_++];
}

std::string_view RequestIdSource::next() {
    char* const digits = id_.data() + kPrefix.size();
    write_digits(next_word(), digits, kDigits);
    write_digits(next_word(), digits + kDigits, kDigits);
    return {id_.data(), id_.size()};
}

}  // namespace sluice::http
