// File names say what a file holds. These words say only that somebody found no name.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "lint/source_file.h"

namespace sluice::lint {
namespace {

constexpr std::array<std::string_view, 9> kEmptyWords = {
    "util", "utils", "common", "helper", "helpers", "manager", "impl", "misc", "stuff"};

// The first empty word in `path`, if any. Words end at a slash, an underscore, a dash or a dot.
std::optional<std::string_view> empty_word(std::string_view path) {
    while (!path.empty()) {
        const std::size_t end = std::min(path.find_first_of("/_-."), path.size());
        const std::string_view word = path.substr(0, end);
        if (std::find(kEmptyWords.begin(), kEmptyWords.end(), word) != kEmptyWords.end())
            return word;
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return std::nullopt;
}

TEST(Names, HoldAMeaningInThisRepository) {
    const auto paths = paths_below(
        SLUICE_REPOSITORY,
        {"include", "src", "sim", "bench", "tests", "examples", "scripts", "cmake", "docs"});
    ASSERT_GT(paths.size(), 5U) << "the repository was not found at " << SLUICE_REPOSITORY;
    for (const std::string& path : paths) {
        const auto word = empty_word(path);
        EXPECT_FALSE(word)
            << path << ": '" << word.value_or("")
            << "' says nothing. Mend it: name the file for the noun or verb of the design that it "
               "holds, or move its parts to the files that are about them.";
    }
}

TEST(Names, EmptyWordsAreFoundAsWholeWords) {
    EXPECT_EQ(empty_word("src/base/utils.h"), "utils");
    EXPECT_EQ(empty_word("src/common/clock.h"), "common");
    EXPECT_EQ(empty_word("src/counter/table_impl.cc"), "impl");
    EXPECT_EQ(empty_word("src/counter/manager_test.cc"), "manager");
    EXPECT_EQ(empty_word("src/counter/table.cc"), std::nullopt);
    EXPECT_EQ(empty_word("docs/uncommon_implications.md"), std::nullopt);
}

}  // namespace
}  // namespace sluice::lint
