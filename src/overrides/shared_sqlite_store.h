// A store in an SQLite file that processes of one machine share.
#ifndef SLUICE_OVERRIDES_SHARED_SQLITE_STORE_H_
#define SLUICE_OVERRIDES_SHARED_SQLITE_STORE_H_

#include <sluice/result.h>

#include <chrono>
#include <optional>
#include <string>

#include "overrides/store.h"
#include "sqlite/database.h"

namespace sluice::overrides {

struct SharedSqliteOptions {
    std::string path;  // is created if it doesn't exist; its folder must
    // How long to wait for another process that writes.
    std::chrono::milliseconds busy_timeout{5000};
};

// The file is the one that holds the regions' counts (global/sqlite/). It is opened as calls need
// it. What was answered survives a loss of power, unlike counts, which are told again.
//
// Thread-compatible.
class SharedSqliteStore final : public OverrideStore {
  public:
    explicit SharedSqliteStore(SharedSqliteOptions options) : options_(std::move(options)) {}

    Result<std::uint64_t> version() override;
    Result<Contents> load_all() override;
    Result<Stored> put(const Override& entry) override;
    Result<Removed> remove(const OverrideKey& key) override;

  private:
    // Opens the file, and checks its tables, if that has not been done.
    [[nodiscard]] std::optional<Error> make_ready();
    Result<std::uint64_t> read_version();
    // All within a transaction.
    Result<Stored> put_row(const Override& entry);
    Result<Removed> remove_row(const OverrideKey& key);
    // The present error as this store tells it.
    Error failed(Error error) const;

    const SharedSqliteOptions options_;
    std::optional<sqlite::Database> database_;
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_SHARED_SQLITE_STORE_H_
