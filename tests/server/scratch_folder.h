// A folder that lives as long as a test.
#ifndef SLUICE_TESTS_SERVER_SCRATCH_FOLDER_H_
#define SLUICE_TESTS_SERVER_SCRATCH_FOLDER_H_

#include <filesystem>
#include <string>
#include <string_view>

namespace sluice::server_test {

// Owned by one thread. The folder is made empty, below the system's folder for temporary files.
class ScratchFolder {
  public:
    ScratchFolder();
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    // Where the file `name` of this folder is, whether it exists or not.
    std::string path(std::string_view name) const { return (folder_ / name).string(); }

    // Writes a file and gives its path. A reader sees the old content or the new one.
    std::string write(std::string_view name, std::string_view content) const;

  private:
    std::filesystem::path folder_;
};

// All bytes of a file; empty if there is none.
std::string read_file(const std::string& path);

}  // namespace sluice::server_test

#endif  // SLUICE_TESTS_SERVER_SCRATCH_FOLDER_H_
