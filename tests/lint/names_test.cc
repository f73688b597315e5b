// Names of files and identifiers, the words of comments, and the size of files.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <regex>
#include <sstream>
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

// A word that was replaced by others of the field.
struct RetiredWord {
    std::string_view word;
    std::string_view instead;
};
// In names and comments. Literals may contain them: the names of deprecated metrics do.
constexpr std::array kRetiredWords = {
    RetiredWord{"told", "synced, flushed, reported or shown"},
    RetiredWord{"untold", "unsynced"},
    RetiredWord{"heard", "read, received or refreshed"},
    RetiredWord{"unheard", "unread or unknown"},
    RetiredWord{"mend", "fix or restore"},
    RetiredWord{"mends", "fixes or restores"},
    RetiredWord{"mended", "fixed or restored"},
    RetiredWord{"whoever", "the thread, node or caller that"},
    RetiredWord{"nobody", "no thread, node or caller"},
    RetiredWord{"somebody", "another thread, node or caller"},
    RetiredWord{"everybody", "all threads, nodes or callers"},
};
// In names alone: comments say "right away".
constexpr RetiredWord kRetiredName{"away", "unavailable"};

// The entry of `word`, which is in lower case; null if it is not retired.
const RetiredWord* retired_word(std::string_view word) {
    for (const RetiredWord& retired : kRetiredWords)
        if (retired.word == word) return &retired;
    return nullptr;
}
const RetiredWord* retired_name(std::string_view word) {
    return word == kRetiredName.word ? &kRetiredName : retired_word(word);
}

// A comment or a literal, which may contain what looks like the other.
const std::regex& comment_or_literal() {
    static const std::regex kPattern(R"re(//[^\n]*|"(?:[^"\\\n]|\\.)*")re");
    return kPattern;
}

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

// One message for each identifier of `file` with a retired word.
std::vector<std::string> retired_names(const SourceFile& file) {
    static const std::regex kIdentifier("[A-Za-z_][A-Za-z0-9_]*");
    std::vector<std::string> messages;
    const std::string code = std::regex_replace(file.text, comment_or_literal(), " ");
    for (std::sregex_iterator found(code.begin(), code.end(), kIdentifier), end; found != end;
         ++found) {
        const std::string identifier = found->str();
        for (const std::string& word : words_of_identifier(identifier)) {
            const RetiredWord* const retired = retired_name(word);
            if (retired == nullptr) continue;
            messages.push_back(file.path + ": the name " + identifier + " contains '" + word +
                               "'. Fix it: rename it; the tree says " +
                               std::string(retired->instead) + ".");
        }
    }
    return messages;
}

// One message for each retired word in a comment of `file`.
std::vector<std::string> retired_comments(const SourceFile& file) {
    static const std::regex kWord("[A-Za-z]+");
    std::vector<std::string> messages;
    for (std::sregex_iterator found(file.text.begin(), file.text.end(), comment_or_literal()), end;
         found != end;
         ++found) {
        const std::string comment = found->str();
        if (!comment.starts_with("//")) continue;
        for (std::sregex_iterator at(comment.begin(), comment.end(), kWord); at != end; ++at) {
            std::string word = at->str();
            std::ranges::transform(word, word.begin(), [](unsigned char letter) {
                return static_cast<char>(std::tolower(letter));
            });
            const RetiredWord* const retired = retired_word(word);
            if (retired == nullptr) continue;
            messages.push_back(file.path + ": the comment '" + comment + "' contains '" + word +
                               "'. Fix it: name the part or the caller; the tree says " +
                               std::string(retired->instead) + ".");
        }
    }
    return messages;
}

std::vector<SourceFile> all_cpp_files() {
    return read_cpp_files(SLUICE_REPOSITORY, {"include", "src", "sim", "tests", "bench"});
}

TEST(Identifiers, HaveNoRetiredWords) {
    for (const SourceFile& file : all_cpp_files())
        for (const std::string& message : retired_names(file))
            ADD_FAILURE() << message;
}

TEST(Comments, HaveNoRetiredWords) {
    for (const SourceFile& file : all_cpp_files())
        for (const std::string& message : retired_comments(file))
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

TEST(Comments, RetiredWordsAreFoundAsWholeWords) {
    const auto count = [](const char* text) {
        return retired_comments({.path = "src/a.cc", .text = text}).size();
    };
    EXPECT_EQ(count("int a = 0;  // Somebody was told."), 2U);
    EXPECT_EQ(count("log(\"// told\");"), 0U);
    EXPECT_EQ(count("bool is_told;  // right away, with a toldo"), 0U);
}

TEST(Files, HaveAtMost450Lines) {
    constexpr std::ptrdiff_t kMostLines = 450;
    for (const SourceFile& file : read_cpp_files(SLUICE_REPOSITORY, {"include", "src", "sim"})) {
        EXPECT_LE(std::ranges::count(file.text, '\n'), kMostLines)
            << file.path << " is too long to read at once. Fix it: split it by subject.";
    }
}

// clang-format sees to the lines of C++.
bool has_narrow_lines(const SourceFile& file) {
    const std::string_view path = file.path;
    return path.ends_with("CMakeLists.txt") || path.ends_with(".cmake") || path.ends_with(".py") ||
           path.ends_with(".lua") || file.text.starts_with("#!/usr/bin/env python3\n");
}

TEST(Files, HaveLinesOfAtMost120Characters) {
    constexpr std::size_t kMostCharacters = 120;
    for (const SourceFile& file :
         read_files(SLUICE_REPOSITORY,
                    {"bench", "cmake", "deploy", "examples", "scripts", "sim", "src", "tests"})) {
        if (!has_narrow_lines(file)) continue;
        std::istringstream lines(file.text);
        for (std::string line; std::getline(lines, line);)
            EXPECT_LE(line.size(), kMostCharacters)
                << file.path << ": '" << line << "' is too long. Fix it: wrap the line.";
    }
}

}  // namespace
}  // namespace sluice::lint
