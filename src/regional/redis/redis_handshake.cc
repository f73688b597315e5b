#include "regional/redis/redis_handshake.h"

#include <algorithm>
#include <utility>

#include "regional/redis/origin_commands.h"
#include "regional/redis/redis_protocol.h"
#include "regional/redis/redis_scripts.h"

namespace sluice {
namespace {

// The value of the line "name:value" of INFO; empty if there is none.
std::string info_value(std::string_view info, std::string_view name) {
    while (!info.empty()) {
        const std::size_t end = std::min(info.find('\n'), info.size());
        std::string_view line = info.substr(0, end);
        info.remove_prefix(std::min(end + 1, info.size()));
        if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
        line.remove_prefix(name.size() + 1);
        return std::string(line.substr(0, line.find('\r')));
    }
    return {};
}

constexpr std::string_view kUnusable = "it can't be used";

// The replies of a server that, say, echoes its input have the form of valid ones.
constexpr const char* kNotRedis =
    "the server sends a reply that does not match the command; is it Redis?";

}  // namespace

RedisHandshake::RedisHandshake(std::shared_ptr<const RedisAccess> access,
                               std::shared_ptr<RedisConnection> connection,
                               HandshakePlan plan,
                               Done done)
    : access_(std::move(access)),
      connection_(std::move(connection)),
      plan_(std::move(plan)),
      done_(std::move(done)) {}

// All in one write. The first refusal ends the handshake; later replies are ignored.
void RedisHandshake::run() {
    log_in();
    if (access_->database != 0)
        send(redis_command({"SELECT", std::to_string(access_->database)}),
             &RedisHandshake::on_selected);
    send(redis_command({"INFO", "server"}), &RedisHandshake::on_info);
    send(redis_command({"CLUSTER", "INFO"}), &RedisHandshake::on_cluster_info);
    if (plan_.expected == ExpectedServer::kSentinelMaster)
        send(redis_command({"ROLE"}), &RedisHandshake::on_role);
    load_scripts();
}

void RedisHandshake::send(std::string_view command, Step step) {
    connection_->send(command, [self = shared_from_this(), step](const RedisReply* reply) {
        if (reply != nullptr && self->done_) ((*self).*step)(*reply);
        return true;
    });
}

void RedisHandshake::log_in() {
    const std::string& user = access_->user;
    const std::string& password = access_->password;
    if (user.empty() && password.empty()) return;
    send(user.empty() ? redis_command({"AUTH", password}) : redis_command({"AUTH", user, password}),
         &RedisHandshake::on_logged_in);
}

void RedisHandshake::load_scripts() {
    for (const RedisScript* script : all_scripts()) {
        ++unloaded_;
        send(redis_command({"SCRIPT", "LOAD", script->text}), &RedisHandshake::on_loaded);
    }
}

void RedisHandshake::on_logged_in(const RedisReply& reply) {
    if (reply.is_error()) refuse("logging in failed", reply);
}

void RedisHandshake::on_selected(const RedisReply& reply) {
    if (!reply.is_error()) return;
    const std::string database = "database " + std::to_string(access_->database);
    if (reply.text.find("cluster mode") == std::string::npos)
        return refuse("it has no " + database, reply);
    refuse("it is a cluster, which has only database 0, and not " + database, reply);
}

// Not every user may run INFO. Without it, a restart looks like a lost connection.
void RedisHandshake::on_info(const RedisReply& reply) {
    if (reply.type != RedisReply::Type::kText) return;
    outcome_.run_id = info_value(reply.text, "run_id");
    mode_ = info_value(reply.text, "redis_mode");
    outcome_.is_cluster = mode_ == "cluster";
}

// A server that is no member of a Cluster answers with an error.
void RedisHandshake::on_cluster_info(const RedisReply& reply) {
    if (mode_.empty()) outcome_.is_cluster = reply.type == RedisReply::Type::kText;
}

void RedisHandshake::on_role(const RedisReply& reply) {
    if (reply.is_error()) return refuse(kUnusable, reply);
    const bool has_role = reply.type == RedisReply::Type::kArray && !reply.elements.empty();
    if (!has_role) return fail(kNotRedis);
    if (reply.elements[0].text != "master")
        fail("the Sentinels name it as the master, but it is not");
}

void RedisHandshake::on_loaded(const RedisReply& reply) {
    if (reply.is_error()) return refuse(kUnusable, reply);
    if (reply.type != RedisReply::Type::kText) return fail(kNotRedis);
    if (--unloaded_ == 0) on_identified();
}

void RedisHandshake::on_identified() {
    const ExpectedServer expected = plan_.expected;
    if (expected == ExpectedServer::kClusterSeed && !outcome_.is_cluster)
        return fail("several servers are given, but it is not a member of a Redis Cluster");
    if (expected == ExpectedServer::kSentinelMaster && outcome_.is_cluster)
        return fail("it is a member of a Redis Cluster, which has no use for Sentinels");
    const bool is_marked = !plan_.marker.empty() &&
                           (expected == ExpectedServer::kClusterMember || !outcome_.is_cluster);
    if (!is_marked) return finish();
    send(marker_command(plan_.marker), &RedisHandshake::on_marker_written);
}

// Where INFO and CLUSTER INFO are not allowed, a redirection reveals a Cluster. A server that is
// known to be a member has moved the marker's slot; the map of slots will show where to.
void RedisHandshake::on_marker_written(const RedisReply& reply) {
    if (reply.is_error("MOVED")) {
        outcome_.is_cluster = true;
        return finish();
    }
    if (reply.is_error() && !is_refusing_all_writes(reply.text)) return refuse(kUnusable, reply);
    if (reply.is_error()) {
        outcome_.refusal = shown_error(reply.text, access_->password);
        return finish();
    }
    if (reply.type != RedisReply::Type::kText) return fail(kNotRedis);
    outcome_.marker = plan_.marker;
    outcome_.marker_value = reply.text;
    finish();
}

void RedisHandshake::refuse(std::string_view what, const RedisReply& reply) {
    fail(std::string(what) + "; Redis says: " + shown_error(reply.text, access_->password));
}

void RedisHandshake::fail(std::string why) {
    outcome_.failure = std::move(why);
    finish();
}

void RedisHandshake::finish() {
    const Done done = std::exchange(done_, {});
    done(std::move(outcome_));
}

}  // namespace sluice
