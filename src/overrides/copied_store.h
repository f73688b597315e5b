// A shared store, and a copy of it on this machine for the time that it is unavailable.
#ifndef SLUICE_OVERRIDES_COPIED_STORE_H_
#define SLUICE_OVERRIDES_COPIED_STORE_H_

#include <functional>
#include <memory>

#include "overrides/sqlite_store.h"
#include "overrides/store.h"

namespace sluice::overrides {

// CopiedStore is what the shared store is, and keeps in `copy` what passes through. A copy that
// can't be written fails no call: `on_failure` is told, on the thread of the call.
//
// Thread-compatible, but for interrupt().
class CopiedStore final : public OverrideStore {
  public:
    struct Options {
        std::unique_ptr<OverrideStore> shared;
        std::unique_ptr<SqliteStore> copy;
        std::function<void(const Error&)> on_failure;
    };
    explicit CopiedStore(Options options) : options_(std::move(options)) {}

    Result<std::uint64_t> version() override { return options_.shared->version(); }
    Result<Contents> load_all() override;
    Result<Stored> put(const Override& entry) override;
    Result<Removed> remove(const OverrideKey& key) override;
    void interrupt() override { options_.shared->interrupt(); }

  private:
    const Options options_;
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_COPIED_STORE_H_
