#include "http/api/request_report.h"

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

// RAND_bytes() fails only if the system has no entropy to seed it with.
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

namespace {

constexpr std::size_t kMaxNamespaceBytes = 600;

// True if `name` is an element of the comma-separated `list`.
bool is_in(std::string_view list, std::string_view name) {
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t comma = std::min(list.find(',', at), list.size());
        if (list.substr(at, comma - at) == name) return true;
        at = comma + 1;
    }
    return false;
}

}  // namespace

void ReportNotes::note_namespace(std::string_view name) {
    if (name_space.empty()) {
        name_space = name.substr(0, kMaxNamespaceBytes);
        return;
    }
    if (name_space.size() + 1 + name.size() > kMaxNamespaceBytes || is_in(name_space, name)) return;
    name_space += ',';
    name_space += name;
}

}  // namespace sluice::http
