#include "rls/rule_watch.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "log/captured_log.h"
#include "rls/rule_source.h"

namespace sluice::rls {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class RuleWatchTest : public testing::Test {
  protected:
    RuleWatchTest() { fs::create_directories(folder_); }
    ~RuleWatchTest() override {
        watch_.reset();
        fs::remove_all(folder_);
    }

    std::string path(const std::string& name) const { return folder_ + "/" + name; }
    // Replaces a file as careful programs do: by renaming a new one.
    void write(const std::string& name, const std::string& domain) const {
        fs::create_directories(fs::path(path(name)).parent_path());
        std::ofstream(folder_ + ".new") << "domain: " + domain + "\n";
        fs::rename(folder_ + ".new", path(name));
    }

    void watch(const std::string& at) {
        const std::uint64_t fingerprint = fingerprint_of(at);
        ASSERT_TRUE(source_.load(at, SameDomain::kRefuse)) << log_.text();
        watch_ = *RuleWatch::start(at, fingerprint, [this, at] {
            source_.load(at, SameDomain::kRefuse);
            ++reloads_;
        });
    }

    // Waits, for up to ten seconds, until a domain is in force.
    bool has(const std::string& domain) {
        return eventually([&] { return source_.current().get()->rules->has_domain(domain); });
    }
    template <class Condition>
    static bool eventually(Condition condition) {
        const auto end = std::chrono::steady_clock::now() + 8s;  // less than the interval
        while (!condition()) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::sleep_for(5ms);
        }
        return true;
    }

    const std::string folder_ = testing::TempDir() + "sluice_watch_" + std::to_string(getpid());
    CapturedLog log_;
    RuleMetrics metrics_;
    RuleSource source_{metrics_, log_.log};
    std::atomic<int> reloads_{0};
    std::unique_ptr<RuleWatch> watch_;
};

TEST_F(RuleWatchTest, AFileThatIsReplacedOrWrittenIsReadAgain) {
    write("rules.yaml", "one");
    watch(path("rules.yaml"));
    write("rules.yaml", "two");
    EXPECT_TRUE(has("two"));
    std::ofstream(path("rules.yaml")) << "domain: three\n";
    EXPECT_TRUE(has("three"));
    fs::remove(path("rules.yaml"));
    EXPECT_TRUE(eventually([&] { return reloads_ >= 3; }));
    EXPECT_TRUE(has("three")) << "a missing file leaves the rules in force";
    write("rules.yaml", "four");
    EXPECT_TRUE(has("four"));
}

TEST_F(RuleWatchTest, AFolderIsWatchedWithItsSubfolders) {
    write("rules/a.yaml", "one");
    watch(path("rules"));
    write("rules/b.yaml", "two");
    EXPECT_TRUE(has("two"));
    write("rules/sub/c.yaml", "three");
    EXPECT_TRUE(has("three"));
    write("rules/sub/c.yaml", "four");
    EXPECT_TRUE(has("four"));
    EXPECT_FALSE(source_.current().get()->rules->has_domain("three"));
}

// A volume of Kubernetes: files are links into `..data`, which is a link that is swapped.
TEST_F(RuleWatchTest, TheSwapOfALinkIsAChange) {
    write("volume/..1/rules.yaml", "one");
    write("volume/..2/rules.yaml", "two");
    fs::create_symlink("..1", path("volume/..data"));
    fs::create_symlink("..data/rules.yaml", path("volume/rules.yaml"));
    watch(path("volume"));
    fs::create_symlink("..2", path("volume/..data_tmp"));
    fs::rename(path("volume/..data_tmp"), path("volume/..data"));
    EXPECT_TRUE(has("two"));
    // The old version is removed afterwards, and the next one swapped in.
    fs::remove_all(path("volume/..1"));
    write("volume/..3/rules.yaml", "three");
    fs::create_symlink("..3", path("volume/..data_tmp"));
    fs::rename(path("volume/..data_tmp"), path("volume/..data"));
    EXPECT_TRUE(has("three"));
}

TEST_F(RuleWatchTest, ThePathMayBeALinkThatIsSwapped) {
    write("v1/rules.yaml", "one");
    write("v2/rules.yaml", "two");
    fs::create_directory_symlink(path("v1"), path("current"));
    watch(path("current"));
    fs::create_directory_symlink(path("v2"), path("next"));
    fs::rename(path("next"), path("current"));
    EXPECT_TRUE(has("two"));
    write("v2/rules.yaml", "three");
    EXPECT_TRUE(has("three")) << "the new target is watched";
}

TEST_F(RuleWatchTest, AFolderOnTheWayMayBeALinkThatIsSwapped) {
    write("v1/app/rules.yaml", "one");
    write("v2/app/rules.yaml", "two");
    fs::create_directories(path("links"));
    fs::create_directory_symlink("../v1", path("links/release"));
    fs::create_directory_symlink("links/release", path("current"));
    watch(path("current/app/rules.yaml"));
    fs::create_directory_symlink("../v2", path("links/next"));
    fs::rename(path("links/next"), path("links/release"));
    EXPECT_TRUE(has("two"));
    fs::create_directory_symlink(path("v1"), path("next"));
    fs::rename(path("next"), path("current"));
    EXPECT_TRUE(has("one"));
}

TEST_F(RuleWatchTest, AFolderThatIsMissingMayAppear) {
    write("v1/app/rules.yaml", "one");
    watch(path("v1/app/rules.yaml"));
    fs::remove_all(path("v1"));
    EXPECT_TRUE(eventually([&] { return reloads_ == 1; }));
    write("v2/app/rules.yaml", "two");
    fs::rename(path("v2"), path("v1"));
    EXPECT_TRUE(has("two"));
}

TEST_F(RuleWatchTest, AnInvalidFileLeavesTheRulesInForce) {
    write("rules.yaml", "one");
    watch(path("rules.yaml"));
    write("rules.yaml", "two\nlimit: 3");
    EXPECT_TRUE(eventually([&] { return reloads_ == 1; }));
    EXPECT_TRUE(source_.current().get()->rules->has_domain("one"));
    const std::string log = log_.text();
    EXPECT_NE(log.find("error rules_invalid"), std::string::npos) << log;
    EXPECT_NE(log.find("Error loading new configuration: " + path("rules.yaml") +
                       ":2: config error, unknown key 'limit'"),
              std::string::npos)
        << log;
    std::string text;
    metrics_.write(text);
    EXPECT_NE(text.find("\nratelimit_service_config_load_error 1\n"), std::string::npos);
    EXPECT_NE(text.find("\nratelimit_service_config_load_success 1\n"), std::string::npos);
}

TEST_F(RuleWatchTest, FilesWrittenTogetherAreReadTogether) {
    write("rules/a.yaml", "a0");
    watch(path("rules"));
    for (int i = 1; i <= 20; ++i)
        write("rules/" + std::to_string(i) + ".yaml", "d" + std::to_string(i));
    EXPECT_TRUE(has("d20"));
    EXPECT_LE(reloads_, 3);
}

TEST_F(RuleWatchTest, NothingIsReadWithoutAChange) {
    write("rules.yaml", "one");
    const std::uint64_t before = fingerprint_of(folder_);
    EXPECT_EQ(fingerprint_of(folder_), before);
    watch(folder_);
    write("rules.yaml", "one");  // the same text in a new file
    EXPECT_NE(fingerprint_of(folder_), before);
    EXPECT_TRUE(eventually([&] { return reloads_ == 1; }));
    fs::permissions(folder_, fs::perms::owner_all);
    std::this_thread::sleep_for(3 * RuleWatch::kQuiet);
    EXPECT_EQ(reloads_, 1);
}

// The file may have been unreadable.
TEST_F(RuleWatchTest, AFileIsReadAgainWhenItsPermissionsChange) {
    write("rules.yaml", "one");
    watch(path("rules.yaml"));
    std::this_thread::sleep_for(20ms);  // longer than the resolution of file times
    fs::permissions(path("rules.yaml"), fs::perms::owner_all);
    EXPECT_TRUE(eventually([&] { return reloads_ == 1; }));
}

}  // namespace
}  // namespace sluice::rls
