// A rate limiter over rules of a test, at a fixed time.
#ifndef SLUICE_RLS_SERVICE_FIXTURE_H_
#define SLUICE_RLS_SERVICE_FIXTURE_H_

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rls/rate_limiter.h"
#include "rls/rule_file.h"

namespace sluice::rls {

// Overrides in memory.
class MemoryOverrides final : public overrides::OverrideStore {
  public:
    Result<std::uint64_t> version() override { return 0; }
    Result<overrides::Contents> load_all() override { return overrides::Contents{}; }
    Result<overrides::Stored> put(const overrides::Override& entry,
                                  const std::optional<overrides::Author>&) override {
        return overrides::Stored{entry, 0};
    }
    Result<std::vector<overrides::Change>> changes(const overrides::ChangeQuery&) override {
        return std::vector<overrides::Change>{};
    }
    Result<overrides::Removed> remove(const overrides::OverrideKey&,
                                      const std::optional<overrides::Author>&) override {
        return overrides::Removed{true, 0};
    }
};

// A descriptor of a test, such as {{{"user", "alice"}}}.
struct TestDescriptor {
    std::vector<std::pair<std::string, std::string>> entries;
    std::optional<std::uint64_t> hits = {};
    std::optional<LimitOverride> limit = {};
    bool is_negative_hits = false;
};

class ServiceFixture : public testing::Test {
  protected:
    // The start of a window of a minute and of an hour.
    static constexpr UnixTime kNow{std::chrono::milliseconds{1'699'999'200'000}};

    explicit ServiceFixture(const std::string& origin = "")
        : limiter_(*Limiter::create({.region = "test", .max_keys = 10'000, .origin = origin})) {}

    void load(const std::string& yaml) {
        RuleBudget budget;
        auto config = parse_rules(yaml, "a.yaml", budget);
        ASSERT_TRUE(config) << config.error().message;
        const auto rules = RuleSet::build({*std::move(config)}, SameDomain::kRefuse);
        ASSERT_TRUE(rules) << rules.error().message;
        current_.replace(metrics_.activate(*rules));
    }

    // Rules of the domain `web`: each line is one descriptor in the flow style of YAML.
    void load_descriptors(const std::vector<std::string>& descriptors) {
        std::string yaml = "domain: web\ndescriptors:\n";
        for (const std::string& descriptor : descriptors)
            yaml += "  - {" + descriptor + "}\n";
        load(yaml);
    }

    void set_options(AnswerOptions options) {
        options_ = std::make_shared<const AnswerOptions>(std::move(options));
        service_.emplace(parts());
    }

    RateLimitRequest& request_for(const std::vector<TestDescriptor>& descriptors) {
        texts_ = descriptors;
        request_.clear();
        request_.domain = "web";
        for (const TestDescriptor& descriptor : texts_) {
            request_.descriptors.push_back({.first_entry = request_.entries.size(),
                                            .entry_count = descriptor.entries.size(),
                                            .limit = descriptor.limit,
                                            .hits_addend = descriptor.hits,
                                            .is_negative_hits = descriptor.is_negative_hits});
            for (const auto& [key, value] : descriptor.entries)
                request_.entries.push_back({key, value});
        }
        return request_;
    }

    using Call = bool (RateLimiter::*)(const RateLimitRequest&, UnixTime, Answer&);

    // Makes a call, and waits for a deferred answer.
    Answer call(const RateLimitRequest& request,
                UnixTime now = kNow,
                Call method = &RateLimiter::should_rate_limit) {
        if (!service_) service_.emplace(parts());
        Answer answer;
        was_deferred_ = !((*service_).*method)(request, now, answer);
        if (!was_deferred_) return answer;
        std::promise<Answer> promise;
        service_->ask_origin([&](Answer late) { promise.set_value(std::move(late)); });
        return promise.get_future().get();
    }

    RateLimitResponse ask(const std::vector<TestDescriptor>& descriptors, UnixTime now = kNow) {
        Answer answer = call(request_for(descriptors), now);
        EXPECT_FALSE(answer.error) << answer.error->message;
        return answer.response;
    }

    // The codes of the statuses and the overall one: "OK,OVER=OVER".
    static std::string codes(const RateLimitResponse& response) {
        std::string text;
        for (const DescriptorStatus& status : response.statuses)
            text += (text.empty() ? "" : ",") + name(status.code);
        return text + "=" + name(response.overall_code);
    }
    static std::string name(Code code) { return code == Code::kOk ? "OK" : "OVER"; }

    ServiceParts parts() { return {limiter_, current_, *overrides_, metrics_, options_}; }

    Limiter limiter_;
    RuleMetrics metrics_;
    Current<ActiveRules> current_{RuleMetrics::none()};
    std::unique_ptr<overrides::OverrideSet> overrides_ =
        *overrides::OverrideSet::open(std::make_unique<MemoryOverrides>());
    std::shared_ptr<const AnswerOptions> options_ = std::make_shared<const AnswerOptions>();
    std::optional<RateLimiter> service_;
    std::vector<TestDescriptor> texts_;
    RateLimitRequest request_;
    bool was_deferred_ = false;
};

}  // namespace sluice::rls

#endif  // SLUICE_RLS_SERVICE_FIXTURE_H_
