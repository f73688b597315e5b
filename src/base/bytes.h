// Comparison of short runs of bytes.
#ifndef SLUICE_BASE_BYTES_H_
#define SLUICE_BASE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice {

namespace internal {

template <class Word>
Word load_word(const char* from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    return word;
}

// Whether the first and the last word of two runs of `size` bytes are equal; the two words may overlap.
template <class Word>
bool ends_equal(const char* a, const char* b, std::size_t size) {
    const std::size_t last = size - sizeof(Word);
    const auto first_differing = load_word<Word>(a) ^ load_word<Word>(b);
    const auto last_differing = load_word<Word>(a + last) ^ load_word<Word>(b + last);
    return (first_differing | last_differing) == 0;
}

}  // namespace internal

// memcmp() == 0, without the call for what fits two words: keys are short, and three parts are compared for each
// decision.
inline bool equal_bytes(const char* a, const char* b, std::size_t size) {
    if (size > 16) return std::memcmp(a, b, size) == 0;
    if (size >= 8) return internal::ends_equal<std::uint64_t>(a, b, size);
    if (size >= 4) return internal::ends_equal<std::uint32_t>(a, b, size);
    if (size >= 2) return internal::ends_equal<std::uint16_t>(a, b, size);
    return size == 0 || *a == *b;
}

}  // namespace sluice

#endif  // SLUICE_BASE_BYTES_H_
