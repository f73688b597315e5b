// The findings of `sluice doctor`: each says what is wrong and what to change.
#ifndef SLUICE_DOCTOR_FINDINGS_H_
#define SLUICE_DOCTOR_FINDINGS_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace sluice::doctor {

enum class Level {
    kOk,
    kWarning,  // it works, but may not do so for long, or not under load
    kFault,    // the server would refuse to start, or would lack this dependency
};

struct Finding {
    Level level;
    std::string subject;      // "redis"
    std::string what;         // without secrets
    std::string change = {};  // what to do; empty for kOk
};

// Owned by one thread.
class Findings {
  public:
    void ok(std::string subject, std::string what) {
        list_.push_back({Level::kOk, std::move(subject), std::move(what)});
    }
    void warn(std::string subject, std::string what, std::string change) {
        list_.push_back({Level::kWarning, std::move(subject), std::move(what), std::move(change)});
    }
    void fault(std::string subject, std::string what, std::string change) {
        list_.push_back({Level::kFault, std::move(subject), std::move(what), std::move(change)});
    }

    const std::vector<Finding>& list() const { return list_; }
    std::size_t count(Level level) const {
        return static_cast<std::size_t>(
            std::count_if(list_.begin(), list_.end(), [&](const Finding& finding) {
                return finding.level == level;
            }));
    }

  private:
    std::vector<Finding> list_;
};

}  // namespace sluice::doctor

#endif  // SLUICE_DOCTOR_FINDINGS_H_
