// A store that forgets everything when the process ends.
#ifndef SLUICE_OVERRIDES_MEMORY_STORE_H_
#define SLUICE_OVERRIDES_MEMORY_STORE_H_

#include "overrides/store.h"

namespace sluice::overrides {

// Keeps nothing: OverrideSet itself holds all overrides in memory, and there is no restart to
// survive.
class MemoryStore final : public OverrideStore {
  public:
    Result<std::uint64_t> version() override { return 0; }
    Result<Contents> load_all() override { return Contents{}; }
    Result<Stored> put(const Override& entry) override { return Stored{entry, 0}; }
    Result<Removed> remove(const OverrideKey&) override { return Removed{true, 0}; }
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_MEMORY_STORE_H_
