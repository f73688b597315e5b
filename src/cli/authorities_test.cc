#include "cli/authorities.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

class Authorities : public testing::Test {
  protected:
    void SetUp() override { fs::create_directory(folder_); }
    void TearDown() override { fs::remove_all(folder_); }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    std::string make_file(const std::string& name) const {
        std::ofstream(path(name)) << "a certificate";
        return path(name);
    }
    std::string missing() const {
        return missing_authorities({.file = path("cert.pem"),
                                    .folder = path("certs"),
                                    .others = {path("none"), path("red"), path("green")}});
    }

  private:
    const fs::path folder_ =
        fs::path(testing::TempDir()) / ("authorities-" + std::to_string(getpid()));
};

TEST_F(Authorities, ThoseOfAnotherDistributionAreFound) {
    EXPECT_EQ(missing(), "") << "there are none at all";
    const std::string green = make_file("green");
    EXPECT_EQ(missing(), green);
    const std::string red = make_file("red");
    EXPECT_EQ(missing(), red) << "the first one";
    fs::create_directory(path("certs"));
    EXPECT_EQ(missing(), red) << "the folder is empty";
}

TEST_F(Authorities, WhereOpensslLooksComesFirst) {
    make_file("red");
    fs::create_directory(path("certs"));
    make_file("certs/0123abcd.0");
    EXPECT_EQ(missing(), "");
    fs::remove_all(path("certs"));
    EXPECT_NE(missing(), "");
    make_file("cert.pem");
    EXPECT_EQ(missing(), "");
}

}  // namespace
}  // namespace sluice::cli
