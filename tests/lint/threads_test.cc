// Where threads are started.
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "lint/source_file.h"

namespace sluice::lint {
namespace {

// Whether a line of code starts a thread by other means than start_thread(), or holds several. A
// std::thread without arguments starts none.
bool starts_thread(const std::string& line) {
    static const std::regex pattern(
        R"(std::thread\s*(\w+\s*)?[({]\s*[^)}\s]|<std::thread>|std::jthread|std::async|pthread_create)");
    const std::string code = line.substr(0, line.find("//"));
    return std::regex_search(code, pattern);
}

bool may_start_threads(std::string_view path) {
    return path == "src/base/thread.cc" || path == "src/base/thread.h" ||
           path.ends_with("_test.cc") || path.find("/test_") != std::string_view::npos;
}

TEST(Threads, AreStartedInOnePlace) {
    std::size_t files = 0;
    for (const auto& [path, text] : read_cpp_files(SLUICE_REPOSITORY, {"include", "src"})) {
        if (may_start_threads(path)) continue;
        ++files;
        std::istringstream lines(text);
        std::string line;
        for (int number = 1; std::getline(lines, line); ++number) {
            EXPECT_FALSE(starts_thread(line))
                << path << ":" << number
                << ": A thread is started here. An exception on it would end the process. Fix it: "
                   "use start_thread() of base/thread.h, or TurnThread, with a name and a "
                   "reporter.";
        }
    }
    EXPECT_GT(files, 100U);
}

TEST(Threads, OtherWaysToStartOneAreFound) {
    EXPECT_TRUE(starts_thread("    thread_ = std::thread([this] { run(); });"));
    EXPECT_TRUE(starts_thread("    std::thread worker([&] { run(); });"));
    EXPECT_TRUE(starts_thread("    std::jthread worker{run};"));
    EXPECT_TRUE(starts_thread("    std::vector<std::thread> workers;"));
    EXPECT_TRUE(starts_thread("    auto done = std::async(std::launch::async, run);"));
    EXPECT_TRUE(starts_thread("    pthread_create(&thread, nullptr, run, nullptr);"));
    EXPECT_FALSE(starts_thread("    std::thread thread_;"));
    EXPECT_FALSE(starts_thread("        Handle() : thread() {}"));
    EXPECT_FALSE(starts_thread("    return std::thread::hardware_concurrency();"));
    EXPECT_FALSE(starts_thread("    if (thread_id_ != std::thread::id{}) return;"));
    EXPECT_FALSE(starts_thread("// a std::thread(x) in a comment"));
}

}  // namespace
}  // namespace sluice::lint
