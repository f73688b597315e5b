#include "regional/redis/redis_handshake.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "regional/redis/cell_reply.h"
#include "regional/redis/complaint.h"
#include "regional/redis/raise_script.h"
#include "regional/redis/redis_command.h"

namespace sluice {
namespace {

// The value of a line "name:value" of INFO; empty if there is none.
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

}  // namespace

std::string keep_marker_command(const Marker& marker) {
    return redis_command({"PEXPIRE", marker.key, kMarkerLifetime});
}

std::string write_marker_command(const Marker& marker) {
    return raise_command(
        {.key = marker.key, .owner = marker.owner, .own = "1", .lifetime = kMarkerLifetime});
}

std::string rewrite_marker_command(const Marker& marker) {
    return raise_in_full_command(
        {.key = marker.key, .owner = marker.owner, .own = "1", .lifetime = kMarkerLifetime});
}

RedisHandshake::RedisHandshake(std::shared_ptr<const RedisAccess> access,
                               std::shared_ptr<RedisConnection> connection,
                               Plan plan,
                               Done done)
    : access_(std::move(access)),
      connection_(std::move(connection)),
      plan_(std::move(plan)),
      done_(std::move(done)) {}

// All in one write. The first refusal is the one that matters, and ends it.
void RedisHandshake::run() {
    log_in();
    if (access_->database != 0)
        send(redis_command({"SELECT", std::to_string(access_->database)}),
             &RedisHandshake::on_selected);
    send(redis_command({"INFO", "server"}), &RedisHandshake::on_info);
    send(redis_command({"CLUSTER", "INFO"}), &RedisHandshake::on_cluster_info);
    send(load_raise_command(), &RedisHandshake::on_loaded);
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

// A server may keep this to itself. Then a restart can't be told from a lost connection.
void RedisHandshake::on_info(const RedisReply& reply) {
    if (reply.type != RedisReply::Type::kText) return;
    outcome_.server.run_id = info_value(reply.text, "run_id");
    mode_ = info_value(reply.text, "redis_mode");
    outcome_.server.is_cluster = mode_ == "cluster";
}

// A single server refuses this.
void RedisHandshake::on_cluster_info(const RedisReply& reply) {
    if (mode_.empty()) outcome_.server.is_cluster = reply.type == RedisReply::Type::kText;
}

void RedisHandshake::on_loaded(const RedisReply& reply) {
    if (reply.is_error()) return refuse("it can't be used", reply);
    if (reply.type != RedisReply::Type::kText) return refuse_as_stranger();
    const bool is_marked =
        !plan_.marker.key.empty() && (plan_.in_cluster || !outcome_.server.is_cluster);
    if (!is_marked) return finish();
    send(keep_marker_command(plan_.marker), &RedisHandshake::on_kept);
    send(write_marker_command(plan_.marker), &RedisHandshake::on_written);
}

void RedisHandshake::on_kept(const RedisReply& reply) {
    if (reply.is_error("MOVED") && !plan_.in_cluster) {
        outcome_.server.is_cluster = true;
        return finish();
    }
    if (reply.is_error()) return refuse("it can't be used", reply);
    if (reply.type != RedisReply::Type::kInteger) return refuse_as_stranger();
    outcome_.had_marker = reply.integer == 1;
}

// A server without free memory can still be read from.
void RedisHandshake::on_written(const RedisReply& reply) {
    const bool is_full = reply.text.find("OOM ") != std::string::npos;
    if (reply.is_error() && !is_full) return refuse("it can't be used", reply);
    if (!reply.is_error() && !read_raised(reply, 0)) return refuse_as_stranger();
    finish();
}

void RedisHandshake::refuse(std::string_view what, const RedisReply& reply) {
    outcome_.failure =
        std::string(what) + "; Redis says: " + complaint(reply.text, access_->password);
    finish();
}

// One that echoes what it hears, say: what it sends has the form of replies.
void RedisHandshake::refuse_as_stranger() {
    outcome_.failure = "the server answers something else than it was asked; is it Redis?";
    finish();
}

void RedisHandshake::finish() {
    const Done done = std::exchange(done_, {});
    done(std::move(outcome_));
}

}  // namespace sluice
