// Names of files and identifiers, and the size of files.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

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

TEST(FileNames, HaveNoEmptyWords) {
    const auto paths = paths_below(
        SLUICE_REPOSITORY,
        {"include", "src", "sim", "bench", "tests", "examples", "scripts", "cmake", "docs"});
    ASSERT_GT(paths.size(), 5U) << "the repository was not found at " << SLUICE_REPOSITORY;
    for (const std::string& path : paths) {
        const auto word = empty_word(path);
        EXPECT_FALSE(word)
            << path << ": '" << word.value_or("")
            << "' says nothing. Fix it: name the file for its subject, or move its parts to the "
               "files that are about them.";
    }
}

TEST(FileNames, EmptyWordsAreFoundAsWholeWords) {
    EXPECT_EQ(empty_word("src/base/utils.h"), "utils");
    EXPECT_EQ(empty_word("src/common/clock.h"), "common");
    EXPECT_EQ(empty_word("src/counter/table_impl.cc"), "impl");
    EXPECT_EQ(empty_word("src/counter/manager_test.cc"), "manager");
    EXPECT_EQ(empty_word("src/counter/table.cc"), std::nullopt);
    EXPECT_EQ(empty_word("docs/uncommon_implications.md"), std::nullopt);
}

// Words that were replaced by those of the field.
struct RetiredWord {
    std::string_view word;
    std::string_view instead;
};
constexpr std::array kRetiredWords = {
    RetiredWord{"told", "synced, flushed or reported"},
    RetiredWord{"untold", "unsynced"},
    RetiredWord{"heard", "read or refreshed"},
    RetiredWord{"unheard", "unread"},
    RetiredWord{"away", "unavailable"},
};

// The words of an identifier in snake_case or PascalCase, in lower case.
std::vector<std::string> words_of_identifier(std::string_view identifier) {
    std::vector<std::string> words(1);
    bool was_lower = false;
    for (const char letter : identifier) {
        const auto byte = static_cast<unsigned char>(letter);
        if (letter == '_' || (std::isupper(byte) != 0 && was_lower)) words.emplace_back();
        was_lower = std::islower(byte) != 0 || std::isdigit(byte) != 0;
        if (letter != '_') words.back() += static_cast<char>(std::tolower(byte));
    }
    return words;
}

// One message for each identifier of `file` with a retired word. Comments and literals don't count.
std::vector<std::string> retired_names(const SourceFile& file) {
    static const std::regex kNoCode(R"re(//[^\n]*|"(?:[^"\\\n]|\\.)*")re");
    static const std::regex kIdentifier("[A-Za-z_][A-Za-z0-9_]*");
    std::vector<std::string> messages;
    const std::string code = std::regex_replace(file.text, kNoCode, " ");
    for (std::sregex_iterator found(code.begin(), code.end(), kIdentifier), end; found != end;
         ++found) {
        const std::string identifier = found->str();
        for (const std::string& word : words_of_identifier(identifier)) {
            const auto retired = std::ranges::find(kRetiredWords, word, &RetiredWord::word);
            if (retired == kRetiredWords.end()) continue;
            messages.push_back(file.path + ": the name " + identifier + " contains '" + word +
                               "'. Fix it: rename it; the tree says " +
                               std::string(retired->instead) + ".");
        }
    }
    return messages;
}

TEST(Identifiers, HaveNoRetiredWords) {
    for (const SourceFile& file : read_cpp_files(SLUICE_REPOSITORY, {"include", "src", "sim"}))
        for (const std::string& message : retired_names(file))
            ADD_FAILURE() << message;
}

TEST(Identifiers, RetiredWordsAreFoundAsWholeWords) {
    const auto count = [](const char* text) {
        return retired_names({.path = "src/a.cc", .text = text}).size();
    };
    EXPECT_EQ(count("bool is_told();"), 1U);
    EXPECT_EQ(count("struct UntoldCells { int heard_; };"), 2U);
    EXPECT_EQ(count("TEST(Origin, StaysAway) {}"), 1U);
    EXPECT_EQ(count("int runaway = 0;  // told"), 0U);
    EXPECT_EQ(count("log(\"a \\\" told\");"), 0U);
}

TEST(Files, HaveAtMost450Lines) {
    constexpr std::ptrdiff_t kMostLines = 450;
    for (const SourceFile& file : read_cpp_files(SLUICE_REPOSITORY, {"include", "src", "sim"})) {
        EXPECT_LE(std::ranges::count(file.text, '\n'), kMostLines)
            << file.path << " is too long to read at once. Fix it: split it by subject.";
    }
}

}  // namespace
}  // namespace sluice::lint
