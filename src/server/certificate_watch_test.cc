#include "server/certificate_watch.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::server {
namespace {

namespace fs = std::filesystem;

class CertificateWatchTest : public testing::Test {
  protected:
    void SetUp() override {
        fs::create_directory(folder_);
        for (const std::string& name : {tls_.cert, tls_.key, tls_.client_ca})
            std::ofstream(name) << "first";
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(path(name)) << text;
    }

    const fs::path folder_ =
        fs::path(testing::TempDir()) / ("certificate-" + std::to_string(getpid()));
    const config::TlsSettings tls_{
        .cert = path("cert"), .key = path("key"), .client_ca = path("ca")};
};

TEST_F(CertificateWatchTest, FilesThatStayAreTheSame) {
    EXPECT_EQ(CertificateFiles(tls_), CertificateFiles(tls_));
    EXPECT_EQ(CertificateFiles({}), CertificateFiles({}));
}

TEST_F(CertificateWatchTest, EachFileMatters) {
    for (const char* name : {"cert", "key", "ca"}) {
        const CertificateFiles before(tls_);
        write(name, "the second one");
        EXPECT_NE(CertificateFiles(tls_), before) << name;
    }
    const CertificateFiles before(tls_);
    fs::remove(path("cert"));
    EXPECT_NE(CertificateFiles(tls_), before);
}

TEST_F(CertificateWatchTest, PermissionsAreADifference) {
    const CertificateFiles before(tls_);
    // Repeated, since file times have a resolution of some milliseconds.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{5};
    while (CertificateFiles(tls_) == before && std::chrono::steady_clock::now() < end)
        fs::permissions(path("key"), fs::perms::owner_read);
    EXPECT_NE(CertificateFiles(tls_), before);
}

TEST_F(CertificateWatchTest, AnotherNameIsADifference) {
    config::TlsSettings other = tls_;
    other.cert = path("other");
    fs::create_hard_link(path("cert"), path("other"));
    EXPECT_NE(CertificateFiles(tls_), CertificateFiles(other));
}

TEST_F(CertificateWatchTest, TheSwapOfALinkIsADifference) {
    fs::create_directory(path("1"));
    fs::create_directory(path("2"));
    write("1/cert", "first");
    write("2/cert", "first");
    fs::create_directory_symlink("1", path("data"));
    config::TlsSettings linked = tls_;
    linked.cert = path("data/cert");
    const CertificateFiles before(linked);
    fs::create_directory_symlink("2", path("next"));
    fs::rename(path("next"), path("data"));
    EXPECT_NE(CertificateFiles(linked), before);
}

TEST_F(CertificateWatchTest, ALoadIsDueAfterAChangeAndWhileItFails) {
    CertificateWatch watch{CertificateFiles(tls_)};
    EXPECT_EQ(watch.check(tls_), std::nullopt);
    write("key", "the second one");
    EXPECT_EQ(watch.check(tls_), CertificateLoad::kChanged);
    watch.record(false);
    EXPECT_EQ(watch.check(tls_), CertificateLoad::kRetry);
    watch.record(false);
    EXPECT_EQ(watch.check(tls_), CertificateLoad::kRetry);
    watch.record(true);
    EXPECT_EQ(watch.check(tls_), std::nullopt);
}

}  // namespace
}  // namespace sluice::server
