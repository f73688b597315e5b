// The rules in force, and how new ones replace them.
#ifndef SLUICE_RLS_RULE_SOURCE_H_
#define SLUICE_RLS_RULE_SOURCE_H_

#include <sluice/result.h>

#include <functional>
#include <memory>
#include <string>

#include "base/current.h"
#include "base/mutex.h"
#include "log/log.h"
#include "rls/rule_metrics.h"
#include "rls/rules.h"

namespace sluice::rls {

// RuleSource holds the rules in force. New ones take effect as a whole; if they are invalid, those
// before stay in force, which is logged and counted. Counts belong to identifiers and not to rules,
// so a reload loses none.
//
// Thread-safe; `metrics` and `log` must outlive it.
class RuleSource {
  public:
    RuleSource(RuleMetrics& metrics, Log& log)
        : metrics_(metrics), log_(log), current_(RuleMetrics::none()) {}

    // Loads the rules of a file or folder. False if they are invalid.
    bool load(const std::string& path, SameDomain same_domain);

    // Puts `rules` into force, or reports why there are none. `from` names their source in the log.
    bool apply(Result<std::shared_ptr<const RuleSet>> rules, const std::string& from);

    // Has `listener` called after each change, on the thread that makes it; a null one ends that.
    // Once this returns, the listener before is not running. It must not call the source.
    void set_listener(std::function<void()> listener);

    const Current<ActiveRules>& current() const { return current_; }
    // Whether there is a domain.
    bool has_rules() const { return !current_.get()->rules->is_empty(); }

  private:
    RuleMetrics& metrics_;
    Log& log_;
    Current<ActiveRules> current_;
    Mutex listener_mutex_;
    std::function<void()> listener_ SLUICE_GUARDED_BY(listener_mutex_);
};

}  // namespace sluice::rls

#endif  // SLUICE_RLS_RULE_SOURCE_H_
