// The store of overrides in a MySQL or MariaDB that nodes share.
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "mysql/mysql_connection.h"
#include "mysql/mysql_schema.h"
#include "overrides/stores.h"

namespace sluice::overrides {
namespace {

constexpr std::chrono::seconds kRetryDelay{1};

constexpr const char* kColumns =
    "SELECT pk, id, workspace_id, namespace, identifier, `limit`, duration_ms "
    "FROM ratelimit_overrides";

// Each part follows its length, so that no two keys have the same text.
std::string digest_of(const OverrideKey& key) {
    std::string text;
    for (const std::string_view part : {key.workspace, key.name_space, key.identifier}) {
        for (const unsigned shift : {24U, 16U, 8U, 0U})
            text += static_cast<char>(part.size() >> shift & 0xFFU);
        text += part;
    }
    const Sha256 digest = sha256_of(text);
    return {digest.begin(), digest.end()};
}

std::string where(const OverrideKey& key) {
    return " WHERE parts_digest = " + sql_bytes(digest_of(key));
}

std::string sql_values(const std::optional<LimitAndDuration>& value) {
    if (!value) return "-1, -1";
    return std::to_string(value->limit) + ", " + std::to_string(value->duration.count());
}

std::string keep_statement(const Change& change) {
    return "INSERT INTO ratelimit_override_log (at_ms, token, workspace_id, namespace, identifier, "
           "override_id, old_limit, old_duration_ms, new_limit, new_duration_ms) VALUES (" +
           std::to_string(change.author.at) + ", " + sql_bytes(change.author.token) + ", " +
           sql_bytes(change.workspace) + ", " + sql_bytes(change.name_space) + ", " +
           sql_bytes(change.identifier) + ", " + sql_bytes(change.id) + ", " +
           sql_values(change.before) + ", " + sql_values(change.after) + ")";
}

std::string changes_statement(const ChangeQuery& query) {
    std::string sql =
        "SELECT pk, at_ms, token, workspace_id, namespace, identifier, override_id, old_limit, "
        "old_duration_ms, new_limit, new_duration_ms FROM ratelimit_override_log WHERE "
        "workspace_id = " +
        sql_bytes(query.workspace);
    if (!query.name_space.empty()) sql += " AND namespace = " + sql_bytes(query.name_space);
    if (query.before != 0) sql += " AND pk < " + std::to_string(query.before);
    return sql + " ORDER BY pk DESC LIMIT " + std::to_string(query.most);
}

std::string put_statement(const Override& entry) {
    return "INSERT INTO ratelimit_overrides "
           "(id, workspace_id, namespace, identifier, parts_digest, `limit`, duration_ms) VALUES "
           "(" +
           sql_bytes(entry.id) + ", " + sql_bytes(entry.workspace) + ", " +
           sql_bytes(entry.name_space) + ", " + sql_bytes(entry.identifier) + ", " +
           sql_bytes(digest_of(entry.key())) + ", " + std::to_string(entry.value.limit) + ", " +
           std::to_string(entry.value.duration.count()) +
           ") ON DUPLICATE KEY UPDATE `limit` = VALUES(`limit`), "
           "duration_ms = VALUES(duration_ms)";
}

// The tables are those of src/mysql/mysql_schema.cc. Each change first locks the row that holds the
// version: changes are serialised, and an override's order is that of their commits.
//
// Thread-compatible, but for interrupt().
class MysqlOverrideStore final : public OverrideStore {
  public:
    explicit MysqlOverrideStore(MysqlOptions options) : connection_(std::move(options)) {}

    void interrupt() override { connection_.interrupt(); }

    Result<std::uint64_t> version() override {
        if (auto error = make_ready()) return *std::move(error);
        return read_version();
    }

    // The version is read first: a change that is made while the rows are read is found by the next
    // call of version().
    Result<Contents> load_all() override {
        if (auto error = make_ready()) return *std::move(error);
        const auto version = read_version();
        if (!version) return version.error();
        Contents contents{.overrides = {}, .version = *version};
        const auto add = [&](const MysqlRow& row) {
            contents.overrides.push_back(override_in(row));
        };
        if (auto error = query(std::string(kColumns) + " ORDER BY pk", add))
            return *std::move(error);
        return contents;
    }

    Result<Stored> put(const Override& entry, const std::optional<Author>& author) override {
        if (auto error = begin()) return *std::move(error);
        const auto held = find(entry.key());
        if (!held) return rolled_back(held.error());
        if (author) {
            const auto error = keep(change_of(*author, entry, *held, entry.value));
            if (error) return rolled_back(*error);
        }
        if (auto put = run(put_statement(entry)); !put) return rolled_back(put.error());
        Stored stored{.entry = entry, .version = 0};
        const auto see = [&](const MysqlRow& row) { stored.entry = override_in(row); };
        if (auto error = query(kColumns + where(entry.key()), see))
            return rolled_back(*std::move(error));
        const auto version = end("COMMIT");
        if (!version) return version.error();
        stored.version = *version;
        return stored;
    }

    Result<Removed> remove(const OverrideKey& key, const std::optional<Author>& author) override {
        if (auto error = begin()) return *std::move(error);
        const auto held = find(key);
        if (!held) return rolled_back(held.error());
        if (*held && author) {
            const auto error = keep(change_of(*author, **held, *held, std::nullopt));
            if (error) return rolled_back(*error);
        }
        const auto deleted = run("DELETE FROM ratelimit_overrides" + where(key));
        if (!deleted) return rolled_back(deleted.error());
        const auto version = end(*deleted > 0 ? "COMMIT" : "ROLLBACK");
        if (!version) return version.error();
        return Removed{.found = *deleted > 0, .version = *version};
    }

    Result<std::vector<Change>> changes(const ChangeQuery& asked) override {
        if (auto error = make_ready()) return *std::move(error);
        std::vector<Change> found;
        const auto add = [&](const MysqlRow& row) { found.push_back(change_in(row)); };
        if (auto error = query(changes_statement(asked), add)) return *std::move(error);
        return found;
    }

  private:
    using Clock = std::chrono::steady_clock;

    Result<std::optional<Override>> find(const OverrideKey& key) {
        std::optional<Override> found;
        const auto see = [&](const MysqlRow& row) { found = override_in(row); };
        if (auto error = query(kColumns + where(key), see)) return *std::move(error);
        return found;
    }

    // Keeps a change, and deletes the oldest beyond the bound.
    std::optional<Error> keep(const Change& change) {
        if (auto kept = run(keep_statement(change)); !kept) return kept.error();
        const std::string in_workspace = " WHERE workspace_id = " + sql_bytes(change.workspace);
        std::int64_t newest = 0;
        const auto see = [&](const MysqlRow& row) { newest = row.number(0); };
        if (auto error =
                query("SELECT pk FROM ratelimit_override_log" + in_workspace +
                          " ORDER BY pk DESC LIMIT 1 OFFSET " + std::to_string(kMaxChangesKept),
                      see))
            return error;
        if (newest == 0) return std::nullopt;
        auto deleted = run("DELETE FROM ratelimit_override_log" + in_workspace +
                           " AND pk <= " + std::to_string(newest));
        return deleted ? std::nullopt : std::optional(deleted.error());
    }

    std::optional<Error> make_ready() {
        if (connection_.is_connected()) return std::nullopt;
        if (lost_ && Clock::now() < retry_at_) return lost_;
        if (const auto failure = connection_.connect()) return failed(*failure);
        const auto failure = check_mysql_schema(connection_);
        if (!failure) return std::nullopt;
        // The next call checks again.
        connection_.disconnect();
        return failed(*failure);
    }

    Error failed(const MysqlFailure& failure) {
        const bool is_refused =
            failure.kind != MysqlFailure::Kind::kBusy && failure.kind != MysqlFailure::Kind::kLost;
        Error error{is_refused ? kStoreFailed : kStoreUnavailable, "overrides: " + failure.why};
        if (failure.kind == MysqlFailure::Kind::kLost) {
            lost_ = error;
            retry_at_ = Clock::now() + kRetryDelay;
        }
        return error;
    }

    // Returns the number of rows that changed.
    Result<std::uint64_t> run(const std::string& sql) {
        const auto done = connection_.run(sql);
        if (const auto* const failure = std::get_if<MysqlFailure>(&done)) return failed(*failure);
        return std::get<std::uint64_t>(done);
    }

    std::optional<Error> query(const std::string& sql, const MysqlConnection::Visit& visit) {
        if (const auto failure = connection_.query(sql, visit)) return failed(*failure);
        return std::nullopt;
    }

    Result<std::uint64_t> read_version() {
        std::uint64_t version = 0;
        const auto see = [&](const MysqlRow& row) {
            version = static_cast<std::uint64_t>(row.number(0));
        };
        if (auto error =
                query("SELECT version FROM ratelimit_overrides_version WHERE one = 1", see))
            return *std::move(error);
        return version;
    }

    std::optional<Error> begin() {
        const bool was_connected = connection_.is_connected();
        if (auto error = make_ready()) return error;
        auto begun = run("START TRANSACTION");
        // The server may have been restarted since the last call.
        if (!begun && was_connected) {
            lost_.reset();
            if (auto unavailable = make_ready()) return unavailable;
            begun = run("START TRANSACTION");
        }
        if (!begun) return begun.error();
        begun = run("UPDATE ratelimit_overrides_version SET version = version + 1 WHERE one = 1");
        if (!begun) return rolled_back(begun.error());
        return std::nullopt;
    }

    // Ends the transaction, and returns the version in it.
    Result<std::uint64_t> end(const std::string& sql) {
        auto version = read_version();
        if (!version) return rolled_back(version.error());
        if (const auto ended = run(sql); !ended) return rolled_back(ended.error());
        return version;
    }

    // The server rolls back what a lost connection has begun.
    Error rolled_back(Error error) {
        if (connection_.is_connected() && !run("ROLLBACK")) connection_.disconnect();
        return error;
    }

    MysqlConnection connection_;
    // The connection was lost with this error, and is not made again before retry_at_.
    std::optional<Error> lost_;
    Clock::time_point retry_at_{};
};

}  // namespace

std::unique_ptr<OverrideStore> make_mysql_store(MysqlOptions options) {
    return std::make_unique<MysqlOverrideStore>(std::move(options));
}

}  // namespace sluice::overrides
