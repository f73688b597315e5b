// scripts/setup lists every missing package of its groups, which are all that the packages of
// debian/ are built with.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::lint {
namespace {

// A folder of commands that stand in for the machine's own.
class FakeMachine {
  public:
    FakeMachine() {
        std::string pattern = testing::TempDir() + "setup_XXXXXX";
        folder_ = mkdtemp(pattern.data());
    }
    ~FakeMachine() { std::filesystem::remove_all(folder_); }
    FakeMachine(const FakeMachine&) = delete;
    FakeMachine& operator=(const FakeMachine&) = delete;

    void command(const std::string& name, const std::string& script) const {
        const std::filesystem::path path = folder_ / name;
        std::ofstream(path) << "#!/bin/sh\n" << script << '\n';
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }

    // What scripts/setup says.
    std::string set_up(const std::string& groups) const {
        const std::string line = "PATH='" + folder_.string() +
                                 "':$PATH '" SLUICE_REPOSITORY "/scripts/setup' " + groups +
                                 " 2>&1";
        std::string output;
        std::FILE* const pipe = popen(line.c_str(), "r");
        std::array<char, 4096> piece;
        while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), pipe))
            output.append(piece.data(), size);
        pclose(pipe);
        return output;
    }

  private:
    std::filesystem::path folder_;
};

TEST(Setup, WithoutRootNamesEveryPackageThatIsMissing) {
    const FakeMachine machine;
    machine.command("dpkg-query", "exit 1");
    machine.command("id", "echo 1000");
    const std::string output = machine.set_up("build test bench");
    for (const std::string name : {"g++",
                                   "libboost1.81-dev",
                                   "libmariadb-dev",
                                   "libnats-dev",
                                   "libtomlplusplus-dev",
                                   "libgtest-dev",
                                   "python3-venv",
                                   "mariadb-server",
                                   "nats-server",
                                   "libbenchmark-dev",
                                   "wrk",
                                   "redis-tools"}) {
        const bool named = output.find(' ' + name + ' ') != std::string::npos ||
                           output.find(' ' + name + '\n') != std::string::npos;
        EXPECT_TRUE(named) << name << " is not in: " << output;
    }
    EXPECT_NE(output.find("sudo apt-get install"), std::string::npos) << output;
}

// The names in the field Build-Depends of debian/control, one a line.
std::vector<std::string> build_depends() {
    std::vector<std::string> names;
    std::ifstream control(SLUICE_REPOSITORY "/debian/control");
    bool is_inside = false;
    for (std::string line; std::getline(control, line);) {
        if (!line.starts_with(' '))
            is_inside = line.starts_with("Build-Depends:");
        else if (is_inside)
            names.push_back(line.substr(1, line.find_first_of(" ,", 1) - 1));
    }
    return names;
}

TEST(Setup, NamesWhatThePackagesAreBuiltWith) {
    const FakeMachine machine;
    machine.command("dpkg-query", "exit 1");
    machine.command("id", "echo 1000");
    std::string output = machine.set_up("build package");
    std::ranges::replace(output, '\n', ' ');
    const std::vector<std::string> names = build_depends();
    EXPECT_GT(names.size(), 10U) << "debian/control was not found";
    for (const std::string& name : names) {
        // debhelper provides this one.
        const std::string installed = name == "debhelper-compat" ? "debhelper" : name;
        EXPECT_NE(output.find(' ' + installed + ' '), std::string::npos)
            << installed
            << " is in debian/control, and neither in [build] nor [package] of scripts/setup";
    }
}

TEST(Setup, SaysNothingWhereNothingIsMissing) {
    const FakeMachine machine;
    machine.command("dpkg-query", "echo installed");
    EXPECT_EQ(machine.set_up("build test bench"), "");
}

TEST(Setup, ForAnotherArchitectureNamesItsLibrariesAndACrossCompiler) {
    const FakeMachine machine;
    machine.command("dpkg-query", "exit 1");
    machine.command("id", "echo 1000");
    const std::string output = machine.set_up("--architecture arm64 build");
    for (const std::string name :
         {"crossbuild-essential-arm64", "libnats-dev:arm64", "protobuf-compiler"})
        EXPECT_NE(output.find(' ' + name), std::string::npos) << name << " is not in: " << output;
    EXPECT_EQ(output.find(" g++ "), std::string::npos) << output;
    EXPECT_NE(machine.set_up("--architecture i386 build").find("allowed are amd64 and arm64"),
              std::string::npos);
}

TEST(Setup, RefusesAGroupThatItDoesNotKnow) {
    EXPECT_NE(FakeMachine().set_up("bild").find("there is no group 'bild'"), std::string::npos);
}

}  // namespace
}  // namespace sluice::lint
