// The repository's files, as the lint checks read them.
#ifndef SLUICE_TESTS_LINT_SOURCE_FILE_H_
#define SLUICE_TESTS_LINT_SOURCE_FILE_H_

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

namespace sluice::lint {

struct SourceFile {
    std::string path;  // from the top of the repository, as in src/window/sliding.h
    std::string text;
};

// All files below the named top folders, sorted by path. A folder that does not exist has none.
std::vector<std::string> paths_below(const std::filesystem::path& repository,
                                     std::initializer_list<const char*> folders);

// Those files with their text.
std::vector<SourceFile> read_files(const std::filesystem::path& repository,
                                   std::initializer_list<const char*> folders);

// The C++ files among those.
std::vector<SourceFile> read_cpp_files(const std::filesystem::path& repository,
                                       std::initializer_list<const char*> folders);

}  // namespace sluice::lint

#endif  // SLUICE_TESTS_LINT_SOURCE_FILE_H_
