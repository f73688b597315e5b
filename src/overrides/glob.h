// A pattern in which `*` stands for any run of bytes.
#ifndef SLUICE_OVERRIDES_GLOB_H_
#define SLUICE_OVERRIDES_GLOB_H_

#include <cstddef>
#include <span>
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
    // Whether a text begins and ends as the pattern asks, and is long enough for it.
    bool matches_ends(std::string_view text) const;

    // Without a `*`, a pattern names one text only.
    bool is_exact() const { return is_exact_; }
    // How many bytes of a text the pattern itself names.
    std::size_t literal_bytes() const { return literal_bytes_; }

    // What each match begins and ends with.
    std::string_view prefix() const { return prefix_; }
    std::string_view suffix() const { return suffix_; }

    // The texts between two `*`, in their order; none is empty.
    std::span<const std::string> inner() const { return inner_; }

  private:
    bool is_exact_;
    std::size_t literal_bytes_ = 0;
    std::string prefix_;  // the whole pattern if it is exact
    std::string suffix_;
    std::vector<std::string> inner_;
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_GLOB_H_
