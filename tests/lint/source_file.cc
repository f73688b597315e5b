#include "lint/source_file.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace sluice::lint {

namespace {

std::string read_text(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw std::runtime_error("can't read " + path.string());
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

std::vector<std::string> paths_below(const std::filesystem::path& repository,
                                     std::initializer_list<const char*> folders) {
    std::vector<std::string> paths;
    for (const char* folder : folders) {
        if (!std::filesystem::exists(repository / folder)) continue;
        for (const auto& entry :
             std::filesystem::recursive_directory_iterator(repository / folder)) {
            if (!entry.is_regular_file()) continue;
            paths.push_back(entry.path().lexically_relative(repository).generic_string());
        }
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

std::vector<SourceFile> read_files(const std::filesystem::path& repository,
                                   std::initializer_list<const char*> folders) {
    std::vector<SourceFile> files;
    for (const std::string& path : paths_below(repository, folders))
        files.push_back({.path = path, .text = read_text(repository / path)});
    return files;
}

std::vector<SourceFile> read_cpp_files(const std::filesystem::path& repository,
                                       std::initializer_list<const char*> folders) {
    std::vector<SourceFile> files;
    for (const std::string& path : paths_below(repository, folders)) {
        if (!path.ends_with(".h") && !path.ends_with(".cc")) continue;
        files.push_back({.path = path, .text = read_text(repository / path)});
    }
    return files;
}

}  // namespace sluice::lint
