// Runs a fuzz target over files, where no fuzzing engine does: `x_fuzz folder...`
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void run(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::vector<std::uint8_t> data(bytes.size());
    std::transform(bytes.begin(), bytes.end(), data.begin(), [](char byte) {
        return static_cast<std::uint8_t>(byte);
    });
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);  // so that the last line names the file that failed
    LLVMFuzzerTestOneInput(data.data(), data.size());
}

}  // namespace

int main(int argc, char** argv) {
    int files = 0;
    for (int i = 1; i < argc; ++i) {
        for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
            run(entry.path());
            ++files;
        }
    }
    if (files == 0) std::fprintf(stderr, "there is no corpus to run; name its folder\n");
    return files == 0 ? 1 : 0;
}
