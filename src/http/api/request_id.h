// Names for requests, by which a client and an operator speak of the same one.
#ifndef SLUICE_HTTP_API_REQUEST_ID_H_
#define SLUICE_HTTP_API_REQUEST_ID_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::http {

// Makes "req_" and 26 letters and digits: 128 bits of a cryptographic generator. An id says nothing
// about those before and after it, how many there were or which thread made them.
//
// Thread-compatible: each serving thread has its own. The bits come from the generator for many ids
// at a time, so that most of them cost a copy.
class RequestIdSource {
  public:
    RequestIdSource();

    // Valid until the next call.
    std::string_view next();

  private:
    static constexpr std::size_t kDigits = 13;  // of 5 bits each: enough for 64
    static constexpr std::size_t kWords = 256;  // two for an id

    std::uint64_t next_word();

    std::array<char, 4 + 2 * kDigits> id_{};
    std::array<std::uint64_t, kWords> random_;
    std::size_t used_ = kWords;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_REQUEST_ID_H_
