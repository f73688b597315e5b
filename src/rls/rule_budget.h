// How much one load of rules may hold.
#ifndef SLUICE_RLS_RULE_BUDGET_H_
#define SLUICE_RLS_RULE_BUDGET_H_

#include <cstddef>
#include <optional>
#include <string>

namespace sluice::rls {

// Limits of one load: of all files of a folder, or of all resources of a response.
inline constexpr std::size_t kMaxRules = 100'000;             // descriptors, nested ones too
inline constexpr std::size_t kMaxRuleValues = 2'000'000;      // keys and values
inline constexpr std::size_t kMaxRuleTextBytes = 67'108'864;  // of keys and values

struct RuleCost {
    std::size_t descriptors = 0;
    std::size_t values = 0;
    std::size_t text = 0;  // bytes
};

// The budget of one load. It is charged while rules are read, before they take memory, and for
// what an alias repeats as often as it is repeated: a small file can't become large in memory.
//
// Thread-compatible.
class RuleBudget {
  public:
    // Returns why the load is refused if the budget is exceeded. Nothing is to be read from there
    // on.
    [[nodiscard]] std::optional<std::string> charge(const RuleCost& cost);

    // What was charged so far.
    const RuleCost& spent() const { return spent_; }

  private:
    RuleCost spent_;
};

}  // namespace sluice::rls

#endif  // SLUICE_RLS_RULE_BUDGET_H_
