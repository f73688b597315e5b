#include "cli/data_dir.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <sys/stat.h>

namespace sluice::cli {
namespace {

std::error_code make_private_folder(const std::string& folder) {
    namespace fs = std::filesystem;
    std::error_code problem;
    fs::path path = fs::absolute(folder, problem).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();  // "data/"
    if (!problem) fs::create_directories(path.parent_path(), problem);
    if (problem) return problem;
    if (::mkdir(path.c_str(), S_IRWXU) == 0) {
        fs::permissions(path, fs::perms::owner_all, problem);
    } else if (errno != EEXIST) {
        problem = std::error_code(errno, std::generic_category());
    } else if (!fs::is_directory(path, problem) && !problem) {
        problem = std::make_error_code(std::errc::not_a_directory);
    }
    return problem;
}

bool is_open_to_others(const std::string& folder) {
    struct stat status {};
    return ::stat(folder.c_str(), &status) == 0 && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0;
}

}  // namespace

std::optional<Error> open_data_dir(const std::string& folder, Log& log) {
    if (folder.empty()) return std::nullopt;
    if (const std::error_code problem = make_private_folder(folder)) {
        return Error{
            kInvalidOption,
            "data_dir is \"" + folder + "\": the folder can't be made: " + problem.message()};
    }
    if (is_open_to_others(folder)) {
        log.warn("data_dir_open",
                 {{"why", "other users may enter the data directory; set its mode to 700"},
                  {"data_dir", folder}});
    }
    return std::nullopt;
}

}  // namespace sluice::cli
