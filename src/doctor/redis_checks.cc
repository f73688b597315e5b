// Checks of the Redis that the nodes of a region share.
#include <charconv>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "doctor/clock_check.h"
#include "doctor/redis_session.h"
#include "doctor/store_checks.h"
#include "regional/redis/cluster_map.h"

namespace sluice::doctor {
namespace {

using Info = std::map<std::string, std::string, std::less<>>;

constexpr const char* kSubject = "redis";
constexpr int kLeastMajor = 6;
constexpr int kLeastMinor = 2;

// What the server's scripts do with a cell, on a key that no server uses.
constexpr std::string_view kWriteScript =
    "redis.call('HINCRBY', KEYS[1], 'total', 1) redis.call('PEXPIRE', KEYS[1], 1000) "
    "return redis.call('DEL', KEYS[1])";

std::int64_t number_in(std::string_view text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

// The lines "name:value" of INFO.
Info parse_info(std::string_view text) {
    Info info;
    while (!text.empty()) {
        const std::size_t end = text.find("\r\n");
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
        const std::size_t colon = line.find(':');
        if (colon != std::string_view::npos && !line.starts_with('#'))
            info.emplace(line.substr(0, colon), line.substr(colon + 1));
    }
    return info;
}

std::string value_of(const Info& info, std::string_view name) {
    const auto found = info.find(name);
    return found == info.end() ? "" : found->second;
}

// One run of the checks.
class RedisChecks {
  public:
    RedisChecks(const config::Settings& settings, Findings& findings)
        : settings_(settings), findings_(findings) {}

    void run() {
        auto session = RedisSession::open(settings_);
        if (!session) return unreachable(session.error());
        session_ = *std::move(session);
        if (read_info(*session_)) {
            check_version();
            value_of(info_, "cluster_enabled") == "1" ? check_cluster() : check_server();
        }
        check_write();
        check_time();
    }

  private:
    void ok(const std::string& what) { findings_.ok(kSubject, server_ + what); }
    void warn(const std::string& what, std::string change) {
        findings_.warn(kSubject, server_ + what, std::move(change));
    }
    void fault(const std::string& what, std::string change) {
        findings_.fault(kSubject, server_ + what, std::move(change));
    }

    void unreachable(const Error& error) {
        const std::string& why = error.message;
        const bool is_login = why.find("WRONGPASS") != std::string::npos ||
                              why.find("NOAUTH") != std::string::npos ||
                              why.find("AUTH") != std::string::npos;
        const bool is_right = why.find("NOPERM") != std::string::npos;
        fault("can't be used: " + why,
              is_right ? "give the user the rights that it lacks: ACL SETUSER USER ~sluice:2:* "
                         "+@all -@dangerous +info +time"
              : is_login
                  ? "set user and password in `origin`, better in SLUICE_ORIGIN, as "
                    "redis://user:password@host"
                  : "start Redis, or correct `origin`, origin_tls.* and the firewall between");
    }

    bool read_info(RedisSession& session) {
        const auto reply = session.ask({"INFO"});
        if (reply && reply->type == RedisReply::Type::kText) {
            info_ = parse_info(reply->text);
            return true;
        }
        warn("INFO is not allowed, so version, memory and persistence are not checked",
             "ACL SETUSER USER +info; a server then also notices that Redis was restarted");
        return false;
    }

    void check_version() {
        const std::string version = value_of(info_, "redis_version");
        const std::int64_t major = number_in(version);
        const std::size_t dot = version.find('.');
        const std::int64_t minor =
            dot == std::string::npos ? 0 : number_in(std::string_view(version).substr(dot + 1));
        if (major < kLeastMajor || (major == kLeastMajor && minor < kLeastMinor)) {
            fault("its version is " + version, "upgrade to Redis 6.2 or newer");
        } else {
            ok(session_->address().shown() + ": version " + version + ", " +
               value_of(info_, "redis_mode"));
        }
    }

    // What each server has by itself.
    void check_server() {
        check_memory();
        check_persistence();
        check_clients();
    }

    void check_memory() {
        const std::string policy = value_of(info_, "maxmemory_policy");
        const std::int64_t most = number_in(value_of(info_, "maxmemory"));
        const std::int64_t used = number_in(value_of(info_, "used_memory"));
        if (policy != "noeviction") {
            fault("maxmemory-policy is " + policy + ": counts may be dropped, and limits exceeded",
                  "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf");
        } else {
            ok("maxmemory-policy is noeviction");
        }
        if (most == 0) {
            warn("maxmemory is not set: Redis may take all memory of its machine",
                 "CONFIG SET maxmemory to what docs/operations.md, Sizing, computes for your keys, "
                 "and the same in redis.conf");
        } else if (used >= most / 10 * 9) {
            warn("it uses " + std::to_string(used * 100 / most) +
                     " % of maxmemory; when it is full, it refuses writes",
                 "raise maxmemory");
        } else {
            ok("it uses " + std::to_string(used * 100 / most) + " % of maxmemory");
        }
    }

    void check_persistence() {
        if (value_of(info_, "rdb_last_bgsave_status") == "err") {
            warn("the last snapshot failed; Redis may refuse writes until one succeeds (MISCONF)",
                 "see its log; free space in its `dir`, or switch snapshots off: CONFIG SET save "
                 "\"\"");
        }
        if (value_of(info_, "aof_enabled") == "1" &&
            value_of(info_, "aof_last_write_status") == "err") {
            warn("the last write to its append-only file failed",
                 "see its log; free space in its `dir`");
        }
    }

    void check_clients() {
        const std::int64_t most = number_in(value_of(info_, "maxclients"));
        const std::int64_t open = number_in(value_of(info_, "connected_clients"));
        if (most > 0 && open >= most / 10 * 9) {
            warn(std::to_string(open) + " of at most " + std::to_string(most) +
                     " connections are open",
                 "raise maxclients");
        }
    }

    void check_cluster() {
        const auto reply = session_->ask({"CLUSTER", "INFO"});
        const Info cluster = parse_info(reply ? reply->text : "");
        const std::string state = value_of(cluster, "cluster_state");
        if (state != "ok") {
            fault("the Cluster's state is " + (state.empty() ? "not known" : state) + ", with " +
                      value_of(cluster, "cluster_slots_ok") + " of 16384 slots",
                  "redis-cli --cluster fix, until all slots have a master");
        } else {
            ok("the Cluster has " + value_of(cluster, "cluster_size") +
               " masters, all slots are served");
        }
        check_masters();
    }

    void check_masters() {
        const auto reply = session_->ask({"CLUSTER", "SLOTS"});
        const auto ranges =
            reply ? read_cluster_slots(*reply, session_->address().host) : std::nullopt;
        std::set<RedisAddress> masters;
        for (const SlotRange& range : ranges.value_or(std::vector<SlotRange>{}))
            masters.insert(range.master);
        if (masters.empty()) return check_server();
        for (const RedisAddress& address : masters) {
            const auto session = session_->open_other(address);
            if (!session) {
                unreachable(session.error());
                continue;
            }
            server_ = address.shown() + ": ";
            if (read_info(**session)) check_server();
            server_.clear();
        }
    }

    void check_write() {
        const std::string key = "sluice:2:{doctor}:" + std::to_string(system_random());
        auto reply = session_->ask({"EVAL", kWriteScript, "1", key});
        if (reply && reply->is_error("MOVED")) {
            const std::string address = reply->text.substr(reply->text.rfind(' ') + 1);
            const std::size_t colon = address.rfind(':');
            auto other = session_->open_other(
                {.host = address.substr(0, colon),
                 .port = static_cast<std::uint16_t>(number_in(address.substr(colon + 1)))});
            if (!other) return unreachable(other.error());
            reply = (*other)->ask({"EVAL", kWriteScript, "1", key});
        }
        if (!reply) return unreachable(reply.error());
        if (!reply->is_error()) return ok("it takes writes");
        const std::string why(error_message(reply->text));
        fault("it refuses a write: " + shown_error(reply->text, ""), change_for(why));
    }

    static std::string change_for(std::string_view why) {
        if (why.starts_with("OOM")) return "raise maxmemory, or delete keys of other programs";
        if (why.starts_with("READONLY"))
            return "name the master in `origin`, or its Sentinels: redis+sentinel://host/master";
        if (why.starts_with("MISCONF"))
            return "free space in Redis' `dir`, or CONFIG SET stop-writes-on-bgsave-error no";
        if (why.starts_with("NOREPLICAS"))
            return "start the replicas, or lower min-replicas-to-write";
        if (why.find("NOPERM") != std::string_view::npos ||
            why.find("permission") != std::string_view::npos ||
            why.find("ACL") != std::string_view::npos)
            return "give the user the keys and commands: ACL SETUSER USER ~sluice:2:* +@all "
                   "-@dangerous +info";
        return "see the log of Redis";
    }

    void check_time() {
        const auto before = wall_clock();
        const auto reply = session_->ask({"TIME"});
        const auto after = wall_clock();
        if (!reply || !reply->is_array(2))
            return warn("TIME is not allowed, so its clock is not checked",
                        "ACL SETUSER USER +time");
        const std::chrono::milliseconds theirs =
            std::chrono::seconds(number_in(reply->elements[0].text)) +
            std::chrono::milliseconds(number_in(reply->elements[1].text) / 1'000);
        check_clock(kSubject, before, theirs, after, findings_);
        const auto took = after - before;
        if (took * 2 > settings_.origin_timeout) {
            warn("it took " + std::to_string(took.count()) +
                     " ms to answer, of an origin_timeout of " +
                     std::to_string(settings_.origin_timeout.count()) + " ms",
                 "move Redis closer, or raise origin_timeout");
        }
    }

    const config::Settings& settings_;
    Findings& findings_;
    std::unique_ptr<RedisSession> session_;
    Info info_;           // what was read last
    std::string server_;  // in front of findings: which master of a Cluster; else empty
};

}  // namespace

void check_redis(const config::Settings& settings, Findings& findings) {
    RedisChecks(settings, findings).run();
}

}  // namespace sluice::doctor
