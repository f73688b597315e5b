// A text of 1 to 16 bytes in two words.
#ifndef SLUICE_COUNTER_SHORT_TEXT_H_
#define SLUICE_COUNTER_SHORT_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace sluice {

inline constexpr std::size_t kShortBytes = 16;

// ShortText holds the first and the last bytes of a text, eight of each or as many as there are for
// half of it; they may overlap. Together with its size they are the whole text: two texts of the
// same size are equal if their words are.
struct ShortText {
    // Two words that are compared as one.
    using Words [[gnu::vector_size(2 * sizeof(std::uint64_t))]] = std::uint64_t;
    Words words;

    std::uint64_t first() const { return words[0]; }
    std::uint64_t last() const { return words[1]; }

    // `text` is 1 to 16 bytes long.
    [[gnu::always_inline]] static ShortText of(std::string_view text) {
        if (text.size() >= 8) return words_of<std::uint64_t>(text);
        if (text.size() >= 4) return words_of<std::uint32_t>(text);
        if (text.size() >= 2) return words_of<std::uint16_t>(text);
        return words_of<std::uint8_t>(text);
    }

    // The text again, which was `size` bytes long.
    std::string restore(std::size_t size) const {
        const std::size_t word = size >= 8 ? 8 : size >= 4 ? 4 : size >= 2 ? 2 : 1;
        std::string text(size, '\0');
        const std::uint64_t head = first();
        const std::uint64_t tail = last();
        std::memcpy(text.data(), &head, word);
        std::memcpy(text.data() + size - word, &tail, word);
        return text;
    }

    // All bits that differ, for comparing several texts in one go.
    Words differing(const ShortText& other) const { return words ^ other.words; }

  private:
    template <class Word>
    static ShortText words_of(std::string_view text) {
        Word first;
        Word last;
        std::memcpy(&first, text.data(), sizeof first);
        std::memcpy(&last, text.data() + text.size() - sizeof last, sizeof last);
        return {Words{first, last}};
    }
};

}  // namespace sluice

#endif  // SLUICE_COUNTER_SHORT_TEXT_H_
