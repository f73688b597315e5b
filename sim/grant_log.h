// When each node granted what: the history that tells how much the other nodes must know by now.
#ifndef SLUICE_SIM_GRANT_LOG_H_
#define SLUICE_SIM_GRANT_LOG_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "window/sliding.h"

namespace sluice::sim {

// Thread-compatible.
class GrantLog {
  public:
    struct Grant {
        std::uint32_t key;
        Sequence sequence;
        std::uint32_t region;
        std::uint32_t node;  // its serial
        Count cost;
        std::int64_t at_ms;  // by the right clock; never less than that of an earlier grant
    };
    void add(const Grant& grant);

    // What nodes of a region had granted in a cell at a time, but for one of them. May leave out
    // the last grants before it, of up to 64 ms.
    struct Query {
        std::uint32_t key;
        Sequence sequence;
        std::uint32_t region;
        std::int64_t by_ms;
        std::uint32_t except_node = 0;  // none has this serial
    };
    Count sum(const Query& query) const;

  private:
    // The sum of all grants until then.
    struct Step {
        std::int64_t at_ms;
        Count sum;
    };
    struct NodeSteps {
        std::uint32_t region;
        std::uint32_t node;
        std::vector<Step> steps;
    };
    std::map<std::pair<std::uint32_t, Sequence>, std::vector<NodeSteps>> cells_;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_GRANT_LOG_H_
