// A store in an SQLite file.
#ifndef SLUICE_OVERRIDES_SQLITE_STORE_H_
#define SLUICE_OVERRIDES_SQLITE_STORE_H_

#include <sluice/result.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "overrides/store.h"

namespace sluice::overrides {

struct SqliteOptions {
    std::string path;  // is created if it doesn't exist; its folder must
    // How long to wait for another process that is about to let go of the file, such as one that
    // shuts down.
    std::chrono::milliseconds busy_timeout{1000};
    std::int64_t max_bytes = std::int64_t{1} << 30;  // what the file may grow to
};

// What put() and remove() have answered survives a crash of the process and of the machine. The
// file belongs to one process at a time: a second one that opens it is told so.
//
// Thread-compatible.
class SqliteStore final : public OverrideStore {
  public:
    static Result<std::unique_ptr<SqliteStore>> open(const SqliteOptions& options);
    ~SqliteStore() override;

    Result<std::uint64_t> version() override { return 0; }
    Result<Contents> load_all() override;
    Result<Stored> put(const Override& entry) override;
    Result<Removed> remove(const OverrideKey& key) override;

    // Holds these and no others.
    [[nodiscard]] std::optional<Error> replace_all(const std::vector<Override>& overrides);

  private:
    struct Connection;
    explicit SqliteStore(std::unique_ptr<Connection> connection);
    // SQLite's answer.
    int write(const Override& entry);
    std::unique_ptr<Connection> connection_;
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_SQLITE_STORE_H_
