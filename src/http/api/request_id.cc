#include "http/api/request_id.h"

#include <algorithm>

namespace sluice::http {
namespace {

constexpr std::string_view kPrefix = "req_";

// Each step can be undone (multiplication by an odd number, an exclusive or with the own upper
// half), so two numbers never become one.
std::uint64_t scramble(std::uint64_t number) {
    number *= 0x9E3779B97F4A7C15U;
    number ^= number >> 32U;
    number *= 0xD6E8FEB86659FD93U;
    return number ^ (number >> 32U);
}

void write_digits(std::uint64_t number, char* at, std::size_t count) {
    constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
    for (std::size_t i = 0; i < count; ++i, number >>= 5U) {
        at[i] = kAlphabet[number & 31U];
    }
}

}  // namespace

RequestIdSource::RequestIdSource(std::uint64_t origin) {
    std::ranges::copy(kPrefix, id_.begin());
    write_digits(origin, id_.data() + kPrefix.size(), kDigits);
}

std::string_view RequestIdSource::next() {
    write_digits(scramble(++count_), id_.data() + kPrefix.size() + kDigits, kDigits);
    return {id_.data(), id_.size()};
}

}  // namespace sluice::http
