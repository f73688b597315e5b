#include "server/rule_service.h"

#include <cstdint>
#include <utility>

#include "server/resources.h"

namespace sluice::server {

RuleService::RuleService(const config::Settings& settings, Log& log)
    : needs_rules_(settings.rls.needs_rules),
      source_(metrics_, log),
      options_(std::make_shared<const rls::AnswerOptions>(rls::answer_options(settings.rls))) {}

Result<std::unique_ptr<RuleService>> RuleService::start(const config::Settings& settings,
                                                        Log& log) {
    if (settings.rules.starts_with("xds://")) {
        return setting_error("rules",
                             "\"" + settings.rules + "\"",
                             "this program has no client for management servers");
    }
    std::unique_ptr<RuleService> service(new RuleService(settings, log));
    const auto same_domain =
        settings.rls.merge_domains ? rls::SameDomain::kMerge : rls::SameDomain::kRefuse;
    const std::uint64_t fingerprint = rls::fingerprint_of(settings.rules);
    service->source_.load(settings.rules, same_domain);
    auto watch =
        rls::RuleWatch::start(settings.rules,
                              fingerprint,
                              [source = &service->source_, path = settings.rules, same_domain] {
                                  source->load(path, same_domain);
                              });
    if (!watch) return std::move(watch).error();
    service->watch_ = *std::move(watch);
    return service;
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
