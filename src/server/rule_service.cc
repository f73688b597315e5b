#include "server/rule_service.h"

#include <cstdint>
#include <utility>

#include "url/xds_url.h"

namespace sluice::server {

RuleService::RuleService(const config::Settings& settings, Log& log)
    : needs_rules_(settings.rls.needs_rules),
      source_(metrics_, log),
      options_(std::make_shared<const rls::AnswerOptions>(rls::answer_options(settings.rls))) {}

Result<std::unique_ptr<RuleService>> RuleService::start(const config::Settings& settings,
                                                        Log& log,
                                                        OnThreadFailure on_failure) {
    std::unique_ptr<RuleService> service(new RuleService(settings, log));
    auto failed = is_xds_url(settings.rules)
                      ? service->subscribe(settings, log, std::move(on_failure))
                      : service->watch_files(settings, std::move(on_failure));
    if (failed) return *std::move(failed);
    return service;
}

std::optional<Error> RuleService::watch_files(const config::Settings& settings,
                                              OnThreadFailure on_failure) {
    const auto same_domain =
        settings.rls.merge_domains ? rls::SameDomain::kMerge : rls::SameDomain::kRefuse;
    const std::uint64_t fingerprint = rls::fingerprint_of(settings.rules);
    source_.load(settings.rules, same_domain);
    auto watch = rls::RuleWatch::start(
        settings.rules,
        fingerprint,
        [this, path = settings.rules, same_domain] { source_.load(path, same_domain); },
        std::move(on_failure));
    if (!watch) return std::move(watch).error();
    watch_ = *std::move(watch);
    return std::nullopt;
}

std::optional<Error> RuleService::subscribe(const config::Settings& settings,
                                            Log& log,
                                            OnThreadFailure on_failure) {
    auto subscription = RuleSubscription::start(settings, source_, log, std::move(on_failure));
    if (!subscription) return std::move(subscription).error();
    subscription_ = *std::move(subscription);
    return std::nullopt;
}

void RuleService::write_metrics(std::string& out) const {
    metrics_.write(out);
    if (subscription_ != nullptr) subscription_->write_metrics(out);
}

rls::ServiceParts RuleService::parts(Limiter& limiter,
                                     const overrides::OverrideSet& overrides,
                                     insight::Activity* activity,
                                     insight::Recorder* recorder) {
    return {.limiter = limiter,
            .rules = source_.current(),
            .overrides = overrides,
            .metrics = metrics_,
            .options = options_,
            .activity = activity,
            .recorder = recorder};
}

}  // namespace sluice::server
