// Names for requests, by which a client and an operator speak of the same one.
#ifndef SLUICE_HTTP_API_REQUEST_ID_H_
#define SLUICE_HTTP_API_REQUEST_ID_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace sluice::http {

// Makes "req_" and 26 letters and digits: 64 random bits that tell the source apart from every
// other, and the number of the request, scrambled so that nobody reads a rate or an order from it.
//
// Thread-compatible: each serving thread has its own, so that making an id takes neither a lock nor
// a system call.
class RequestIdSource {
  public:
    // `origin` comes from system_random().
    explicit RequestIdSource(std::uint64_t origin);

    // Valid until the next call. No id comes twice.
    std::string_view next();

  private:
    static constexpr std::size_t kDigits = 13;  // of 5 bits each: enough for 64

    std::array<char, 4 + 2 * kDigits> id_{};
    std::uint64_t count_ = 0;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_REQUEST_ID_H_
