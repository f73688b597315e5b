#include "rls/rule_source.h"

#include <utility>

#include "rls/rule_file.h"

namespace sluice::rls {

bool RuleSource::load(const std::string& path, SameDomain same_domain) {
    return apply(load_rules(path, same_domain), path);
}

bool RuleSource::apply(Result<std::shared_ptr<const RuleSet>> rules, const std::string& from) {
    metrics_.note_load(rules.has_value());
    if (!rules) {
        log_.error("rules_invalid",
                   {{"from", from},
                    {"why", "Error loading new configuration: " + rules.error().message},
                    {"rules_in_force", current_.get()->rules->rules().size()}});
        return false;
    }
    for (const std::string& warning : (*rules)->warnings())
        log_.warn("rule_key_ignored", {{"why", warning}});
    const std::size_t count = (*rules)->rules().size();
    current_.replace(metrics_.activate(*std::move(rules)));
    log_.info("rules_loaded", {{"from", from}, {"rules", count}});
    const MutexLock lock(listener_mutex_);
    if (listener_) listener_();
    return true;
}

void RuleSource::set_listener(std::function<void()> listener) {
    const MutexLock lock(listener_mutex_);
    listener_ = std::move(listener);
}

}  // namespace sluice::rls
