// Checks of the global database, and of its replica.
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include <unistd.h>

#include "doctor/clock_check.h"
#include "doctor/store_checks.h"
#include "mysql/mysql_connection.h"
#include "mysql/mysql_schema.h"
#include "url/mysql_url.h"
#include "url/store_url.h"

namespace sluice::doctor {
namespace {

// All of mysql/mysql_schema.cc; a test compares them.
constexpr std::array<std::string_view, 6> kTables = {"ratelimit_schema",
                                                     "ratelimit_window_counts",
                                                     "ratelimit_overrides",
                                                     "ratelimit_overrides_version",
                                                     "ratelimit_regions",
                                                     "ratelimit_override_log"};

// A longer statement saves round trips; a row alone takes a few kilobytes.
constexpr std::int64_t kLeastPacket = 64 * 1024;
constexpr std::int64_t kUsualPacket = 1024 * 1024;

// What the database is for: a replica is only read.
enum class Use { kReadWrite, kRead };

// One run of the checks.
class MysqlChecks {
  public:
    MysqlChecks(std::string subject, const MysqlUrl& url, Use use, Findings& findings)
        : subject_(std::move(subject)), use_(use), findings_(findings), connection_({.url = url}) {}

    void run() {
        if (const auto failure = connection_.connect())
            return fault("can't be used: " + failure->why,
                         "start MySQL, or correct the URL, its login and the firewall between; the "
                         "database must exist");
        ok("version " + text("SELECT VERSION()"));
        const auto schema = check_mysql_schema(connection_);
        if (schema) {
            fault(schema->why, "run `sluice migrate` with the version of the servers");
        } else {
            ok("the tables are those of this version");
            check_rights();
        }
        check_modes();
        check_packet();
        check_time();
    }

  private:
    void ok(std::string what) { findings_.ok(subject_, std::move(what)); }
    void warn(std::string what, std::string change) {
        findings_.warn(subject_, std::move(what), std::move(change));
    }
    void fault(std::string what, std::string change) {
        findings_.fault(subject_, std::move(what), std::move(change));
    }

    // The first column of the first row; empty if that can't be read.
    std::string text(std::string_view sql) {
        std::string found;
        const auto failure = connection_.query(sql, [&](const MysqlRow& row) {
            if (row.columns() > 0) found = row.bytes(0);
        });
        if (failure && !connection_.is_connected() && connection_.connect()) return "";
        return failure ? "" : found;
    }
    std::optional<std::int64_t> number(std::string_view sql) {
        const auto found = connection_.number(sql);
        const auto* const value = std::get_if<std::optional<std::int64_t>>(&found);
        return value == nullptr ? std::nullopt : *value;
    }

    // Statements that need a right, and change no row.
    void check_rights() {
        struct Right {
            std::string_view name;
            std::string_view before;  // the table's name
            std::string_view behind;
        };
        constexpr std::array<Right, 4> kRights = {{
            {"SELECT", "SELECT * FROM ", " WHERE 1 = 0"},
            {"INSERT", "INSERT INTO ", " SELECT * FROM "},
            {"UPDATE", "UPDATE ", ""},
            {"DELETE", "DELETE FROM ", " WHERE 1 = 0"},
        }};
        std::string missing;
        for (const Right& right : kRights) {
            if (use_ == Use::kRead && right.name != "SELECT") continue;
            for (const std::string_view table : kTables) {
                std::string sql(right.before);
                sql += table;
                sql += right.behind;
                if (right.name == "INSERT") sql += std::string(table) + " WHERE 1 = 0";
                if (right.name == "UPDATE") {
                    const std::string column = column_of(table);
                    sql += " SET " + column + " = " + column + " WHERE 1 = 0";
                }
                if (const auto failed = refusal(sql, right.name)) {
                    missing += (missing.empty() ? "" : ", ") + std::string(right.name) + " on " +
                               std::string(table);
                    refusal_ = *failed;
                }
            }
        }
        if (missing.empty()) return ok("the user has the rights that it needs");
        fault("a right is missing: " + missing + ": " + refusal_,
              use_ == Use::kRead
                  ? "GRANT SELECT ON " + connection_.url().database + ".* TO the user"
                  : "GRANT SELECT, INSERT, UPDATE, DELETE ON " + connection_.url().database +
                        ".* TO the user");
    }

    // A column that an update may name.
    static std::string column_of(std::string_view table) {
        if (table == "ratelimit_regions") return "seen_at";
        if (table == "ratelimit_override_log") return "at_ms";
        if (table == "ratelimit_window_counts") return "count";
        if (table == "ratelimit_overrides") return "`limit`";
        return "version";
    }

    // Why a statement fails; none if it doesn't.
    std::optional<std::string> refusal(const std::string& sql, std::string_view right) {
        if (!connection_.is_connected()) {
            if (auto failure = connection_.connect()) return failure->why;
        }
        if (right == "SELECT") {
            auto failure = connection_.query(sql, [](const MysqlRow&) {});
            return failure ? std::optional(failure->why) : std::nullopt;
        }
        const auto done = connection_.run(sql);
        const auto* const failure = std::get_if<MysqlFailure>(&done);
        return failure == nullptr ? std::nullopt : std::optional(failure->why);
    }

    void check_modes() {
        // Each connection of Sluice sets a strict mode, whatever the server's own. A proxy may drop
        // that.
        const std::string modes = text("SELECT @@sql_mode");
        if (modes.find("STRICT_TRANS_TABLES") == std::string::npos &&
            modes.find("STRICT_ALL_TABLES") == std::string::npos) {
            fault("sql_mode is \"" + modes +
                      "\" although the session has set a strict one: values "
                      "that don't fit would be changed silently",
                  "connect to the server itself, or let the proxy keep variables of a session");
        } else {
            ok("sql_mode of the session is strict");
        }
        if (use_ == Use::kRead) return;
        if (number("SELECT @@read_only").value_or(0) != 0) {
            fault("it is read-only",
                  "name the primary in `global`; a replica goes to global_replica");
        }
        if (number("SELECT @@log_bin").value_or(0) != 0 &&
            text("SELECT @@binlog_format") == "STATEMENT") {
            fault(
                "binlog_format is STATEMENT, with which the isolation READ COMMITTED of the server "
                "can't write",
                "set binlog_format to ROW or MIXED");
        } else {
            ok("it can write with the isolation READ COMMITTED");
        }
    }

    void check_packet() {
        const auto most = number("SELECT @@max_allowed_packet");
        if (!most) return;
        const std::string what = "max_allowed_packet is " + std::to_string(*most) + " bytes";
        if (*most < kLeastPacket) {
            fault(what + ": a row may not fit",
                  "set max_allowed_packet to at least 1M, better 16M");
        } else if (*most < kUsualPacket) {
            warn(what + ": writes need more statements", "set max_allowed_packet to 16M");
        } else {
            ok(what);
        }
    }

    void check_time() {
        const auto before = wall_clock();
        const auto theirs = number("SELECT " + std::string(kSqlNow));
        const auto after = wall_clock();
        if (theirs)
            check_clock(subject_, before, std::chrono::milliseconds(*theirs), after, findings_);
    }

    const std::string subject_;
    const Use use_;
    Findings& findings_;
    MysqlConnection connection_;
    std::string refusal_;
};

void check_sqlite(const std::string& url, Findings& findings) {
    namespace fs = std::filesystem;
    const fs::path path(url.substr(kSqliteScheme.size()));
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    std::error_code problem;
    const bool exists = fs::exists(path, problem);
    if (access(exists ? path.c_str() : folder.c_str(), W_OK) == 0) {
        findings.ok("global", path.string() + " can be written");
    } else {
        findings.fault(
            "global",
            path.string() + " can't be written: " + std::generic_category().message(errno),
            "create the folder, and give it to the user of the server");
    }
}

}  // namespace

void check_global(const config::Settings& settings, Findings& findings) {
    if (settings.global.starts_with(kSqliteScheme)) return check_sqlite(settings.global, findings);
    if (const auto url = parse_mysql_url(settings.global))
        MysqlChecks("mysql", *url, Use::kReadWrite, findings).run();
    if (settings.global_replica.empty()) return;
    if (const auto url = parse_mysql_url(settings.global_replica))
        MysqlChecks("mysql replica", *url, Use::kRead, findings).run();
}

}  // namespace sluice::doctor
