// The rate-limit service without its transport: from a request's descriptors to the answer.
#ifndef SLUICE_RLS_RATE_LIMITER_H_
#define SLUICE_RLS_RATE_LIMITER_H_

#include <sluice/limiter.h>
#include <sluice/result.h>
#include <sluice/time.h>
#include <sluice/unique_function.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/current.h"
#include "insight/activity.h"
#include "overrides/override_set.h"
#include "rls/answer_options.h"
#include "rls/decided_request.h"
#include "rls/messages.h"
#include "rls/rule_metrics.h"

namespace sluice::rls {

// The answer to a call: a response, or the error that a gRPC status UNKNOWN carries.
struct Answer {
    std::optional<Error> error = {};
    RateLimitResponse response = {};
};

// What the serving threads share. All must outlive every RateLimiter and every pending answer.
struct ServiceParts {
    Limiter& limiter;
    const Current<ActiveRules>& rules;
    const overrides::OverrideSet& overrides;
    RuleMetrics& metrics;
    std::shared_ptr<const AnswerOptions> options;
    // Counts decisions; null: they are not counted. Any thread may use the first, only that of the
    // RateLimiter the second.
    insight::Activity* activity = nullptr;
    insight::Recorder* recorder = nullptr;
};

// RateLimiter decides requests of Envoy's rate-limit service by the rules in force. A descriptor's
// counts have the domain as namespace and its identifier (rls/identifier.h); overrides apply to
// them.
//
// Thread-compatible: each serving thread has its own.
class RateLimiter {
  public:
    // Called once with an answer that had to wait for the origin, from any thread. Must not block.
    using Later = UniqueFunction<void(Answer)>;

    explicit RateLimiter(const ServiceParts& parts)
        : parts_(parts),
          rules_(parts.rules),
          overrides_(parts.overrides.reader()),
          writer_(parts.metrics) {}

    // Each decides `request` and fills in `answer`, whose memory it reuses, without a lock and
    // without an allocation where it has seen the like before. False if the origin has to be asked:
    // ask_origin() has to be called next. `request` is not needed after the call.
    //
    // ShouldRateLimit: spends the hits of each descriptor that has a limit.
    bool should_rate_limit(const RateLimitRequest& request, UnixTime now, Answer& answer) {
        return decide(Method::kShouldRateLimit, request, now, answer);
    }
    // Kuadrant's CheckRateLimit: reports whether the hits would fit, and spends nothing.
    bool check_rate_limit(const RateLimitRequest& request, UnixTime now, Answer& answer) {
        return decide(Method::kCheck, request, now, answer);
    }
    // Kuadrant's Report: spends the hits whatever the limits. The answer is OK.
    bool report(const RateLimitRequest& request, UnixTime now, Answer& answer) {
        return decide(Method::kReport, request, now, answer);
    }

    // Asks the origin about the request that could not be decided; `later` gets the answer.
    void ask_origin(Later later);

  private:
    bool decide(Method method, const RateLimitRequest& request, UnixTime now, Answer& answer);
    std::optional<Error> find_limits(const RateLimitRequest& request);
    std::optional<Error> find_limit(const RateLimitRequest& request,
                                    const Descriptor& descriptor,
                                    DecidedDescriptor& item);
    RuleSeries* series_by_value(RuleSeries* rule);
    void apply_override(std::string_view domain, DecidedDescriptor& item);
    bool decide_items();
    bool decide_item(DecidedDescriptor& item);
    bool decide_batch();

    const ServiceParts parts_;
    Current<ActiveRules>::Reader rules_;
    overrides::OverrideSet::Reader overrides_;
    RuleWriter writer_;
    // These keep their memory from request to request.
    DecidedRequest work_;
    std::vector<std::size_t> batch_;  // items that are decided together
    std::vector<Request> batch_requests_;
    MetricLabels labels_;
};

}  // namespace sluice::rls

#endif  // SLUICE_RLS_RATE_LIMITER_H_
