// The store of overrides that nodes share: opening it by URL, and keeping a local copy of it.
#ifndef SLUICE_OVERRIDES_SHARED_STORE_H_
#define SLUICE_OVERRIDES_SHARED_STORE_H_

#include <sluice/result.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "overrides/sqlite_store.h"
#include "overrides/store.h"

namespace sluice::overrides {

// Opens the store in the database that holds the global counts: mysql://... or sqlite:PATH. An
// unreachable database is not an error here; the calls to the store report it.
Result<std::unique_ptr<OverrideStore>> open_shared_store(const std::string& url);

// A shared store, and a copy of its contents on this machine for the time that it is unavailable.
// All calls go to the shared store; what they read and wrote is kept in `copy`. A copy that can't
// be written does not fail the call: `on_failure` is called, on the caller's thread.
//
// Thread-compatible, but for interrupt().
class CopiedStore final : public OverrideStore {
  public:
    struct Options {
        std::unique_ptr<OverrideStore> shared;
        std::unique_ptr<SqliteOverrideStore> copy;
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

#endif  // SLUICE_OVERRIDES_SHARED_STORE_H_
