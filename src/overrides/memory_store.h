// A store that forgets everything when the process ends.
#ifndef SLUICE_OVERRIDES_MEMORY_STORE_H_
#define SLUICE_OVERRIDES_MEMORY_STORE_H_

#include <optional>
#include <vector>

#include "overrides/store.h"

namespace sluice::overrides {

// Keeps nothing: OverrideSet itself holds all overrides in memory, and there is no restart to
// survive.
class MemoryStore final : public OverrideStore {
  public:
    Result<std::vector<Override>> load_all() override { return std::vector<Override>{}; }
    std::optional<Error> put(const Override&) override { return std::nullopt; }
    std::optional<Error> remove(const OverrideKey&) override { return std::nullopt; }
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_MEMORY_STORE_H_
