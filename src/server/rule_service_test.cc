#include "server/rule_service.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "log/captured_log.h"
#include "server/resources.h"

namespace sluice::server {
namespace {

using namespace std::chrono_literals;

class RuleServiceTest : public testing::Test {
  protected:
    RuleServiceTest() { settings_.rules = path_; }
    ~RuleServiceTest() override { std::remove(path_.c_str()); }

    void write(const std::string& limit) const {
        std::ofstream(path_ + ".new")
            << "domain: web\ndescriptors:\n  - key: user\n    rate_limit: {unit: hour, "
               "requests_per_unit: " +
                   limit + "}\n";
        std::filesystem::rename(path_ + ".new", path_);
    }
    void start() {
        auto service = RuleService::start(settings_, log_.log);
        ASSERT_TRUE(service) << service.error().message;
        service_ = *std::move(service);
        overrides_ = *open_overrides(settings_, log_.log);
        rate_limiter_.emplace(service_->parts(limiter_, *overrides_));
    }
    // The limit that applies to a user, or the error.
    std::string ask() {
        rls::RateLimitRequest request;
        request.domain = "web";
        request.entries = {{"user", "alice"}};
        request.descriptors = {{.first_entry = 0, .entry_count = 1}};
        rls::Answer answer;
        EXPECT_TRUE(rate_limiter_->should_rate_limit(
            request,
            std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now()),
            answer));
        if (answer.error) return answer.error->message;
        const auto& limit = answer.response.statuses.at(0).current_limit;
        return limit ? std::to_string(limit->requests_per_unit) : "none";
    }
    bool becomes(const std::string& answer) {
        const auto end = std::chrono::steady_clock::now() + 8s;
        while (ask() != answer) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::sleep_for(5ms);
        }
        return true;
    }

    const std::string path_ =
        testing::TempDir() + "sluice_service_" + std::to_string(getpid()) + ".yaml";
    config::Settings settings_;
    CapturedLog log_;
    Limiter limiter_ = *Limiter::create({});
    std::unique_ptr<overrides::OverrideSet> overrides_;
    std::unique_ptr<RuleService> service_;
    std::optional<rls::RateLimiter> rate_limiter_;
};

TEST_F(RuleServiceTest, AppliesTheRulesAndTheirChanges) {
    write("10");
    start();
    EXPECT_EQ(ask(), "10");
    write("20");
    EXPECT_TRUE(becomes("20"));
    write("many");
    while (log_.text().find("rules_invalid") == std::string::npos)
        std::this_thread::sleep_for(5ms);
    EXPECT_EQ(ask(), "20");
    std::string metrics;
    service_->write_metrics(metrics);
    EXPECT_NE(metrics.find("\nratelimit_service_config_load_error 1\n"), std::string::npos);
}

TEST_F(RuleServiceTest, StartsWithoutValidRulesAndFailsCallsUntilThereAreSome) {
    settings_.rls.needs_rules = true;
    write("many");
    start();
    EXPECT_EQ(ask(), "no rate limit configuration loaded");
    EXPECT_FALSE(service_->is_healthy());
    write("5");
    EXPECT_TRUE(becomes("5"));
    EXPECT_TRUE(service_->is_healthy());
}

TEST_F(RuleServiceTest, IsHealthyWithoutRulesUnlessTheyAreNeeded) {
    start();
    EXPECT_TRUE(service_->is_healthy());
}

TEST_F(RuleServiceTest, AFolderWithoutFilesHasNoRules) {
    settings_.rules = testing::TempDir() + "sluice_empty_" + std::to_string(getpid());
    settings_.rls.needs_rules = true;
    std::filesystem::create_directories(settings_.rules);
    start();
    EXPECT_EQ(ask(), "none") << "rules are loaded, and none applies";
    EXPECT_FALSE(service_->is_healthy());
    service_.reset();
    std::filesystem::remove_all(settings_.rules);
}

}  // namespace
}  // namespace sluice::server
