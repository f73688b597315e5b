// A pattern in which `*` stands for any run of bytes.
#ifndef SLUICE_OVERRIDES_GLOB_H_
#define SLUICE_OVERRIDES_GLOB_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::overrides {

// Glob is prepared once from its pattern and then matches without going back in the text: the time
// is linear in the text, whatever the pattern. Every byte but `*` stands for itself, newlines and
// zeros too; `*` also stands for nothing.
//
// Immutable, hence thread-safe.
class Glob {
  public:
    static constexpr std::size_t kMaxBytes = 4096;

    // `pattern` is at most kMaxBytes long.
    explicit Glob(std::string_view pattern);

    bool matches(std::string_view text) const;

    // Without a `*`, a pattern names one text only.
    bool is_exact() const { return is_exact_; }
    // Whether there is text between two `*`, which is to be searched for.
    bool is_searched() const { return !inner_.empty(); }
    // How many bytes of a text the pattern itself names.
    std::size_t literal_bytes() const { return literal_bytes_; }

    // What each match begins and ends with.
    std::string_view prefix() const { return prefix_; }
    std::string_view suffix() const { return suffix_; }

  private:
    // A literal between two `*`, with the failure function of Knuth, Morris and Pratt: fallback[i]
    // is the length of the longest proper prefix of the first i + 1 bytes that is their suffix,
    // too.
    struct Needle {
        explicit Needle(std::string_view needle);
        // What of `text` follows the first occurrence; npos if there is none.
        std::size_t end_in(std::string_view text) const;

        std::string literal;
        std::vector<std::uint16_t> fallback;
    };

    bool is_exact_;
    std::size_t literal_bytes_ = 0;
    std::string prefix_;  // the whole pattern if it is exact
    std::string suffix_;
    std::vector<Needle> inner_;
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_GLOB_H_
