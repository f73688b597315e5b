// The rules of a node's rate-limit service: from files that are watched, or from an xDS server.
#ifndef SLUICE_SERVER_RULE_SERVICE_H_
#define SLUICE_SERVER_RULE_SERVICE_H_

#include <sluice/limiter.h>
#include <sluice/result.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "config/settings.h"
#include "log/log.h"
#include "overrides/override_set.h"
#include "rls/answer_options.h"
#include "rls/rate_limiter.h"
#include "rls/rule_metrics.h"
#include "rls/rule_source.h"
#include "rls/rule_watch.h"
#include "server/rule_subscription.h"

namespace sluice::server {

// Owns what the rate limiters of all serving threads share. Thread-safe.
class RuleService {
  public:
    // Requires that the setting `rules` is not empty. Rules that are invalid are no error: they are
    // logged and counted, and calls fail until there are valid ones. An error is about the setting,
    // or kOutOfThreads. `log` must outlive the service.
    static Result<std::unique_ptr<RuleService>> start(const config::Settings& settings,
                                                      Log& log,
                                                      OnThreadFailure on_failure = {});

    // For a RateLimiter on a serving thread. The service and the other two must outlive it.
    rls::ServiceParts parts(Limiter& limiter,
                            const overrides::OverrideSet& overrides,
                            insight::Activity* activity = nullptr,
                            insight::Recorder* recorder = nullptr);

    // Whether calls can be answered, or need not be.
    bool is_healthy() const { return !needs_rules_ || source_.has_rules(); }

    // See RuleSource::set_listener().
    void set_listener(std::function<void()> listener) { source_.set_listener(std::move(listener)); }

    void write_metrics(std::string& out) const;

  private:
    RuleService(const config::Settings& settings, Log& log);
    std::optional<Error> watch_files(const config::Settings& settings, OnThreadFailure on_failure);
    std::optional<Error> subscribe(const config::Settings& settings,
                                   Log& log,
                                   OnThreadFailure on_failure);

    const bool needs_rules_;
    rls::RuleMetrics metrics_;
    rls::RuleSource source_;
    const std::shared_ptr<const rls::AnswerOptions> options_;
    // One of them is null. Destroyed first: it uses the source.
    std::unique_ptr<rls::RuleWatch> watch_;
    std::unique_ptr<RuleSubscription> subscription_;
};

}  // namespace sluice::server

#endif  // SLUICE_SERVER_RULE_SERVICE_H_
