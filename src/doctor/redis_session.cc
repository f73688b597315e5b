#include "doctor/redis_session.h"

#include <chrono>
#include <utility>
#include <vector>

#include "regional/redis/redis_route.h"

namespace sluice::doctor {
namespace {

constexpr std::chrono::milliseconds kTimeout{3'000};

Error unreachable(const RedisAddress& address, const std::string& why) {
    return {kStoreUnavailable, address.shown() + ": " + why};
}

Result<std::shared_ptr<const RedisAccess>> access_of(const config::Settings& settings,
                                                     const RedisUrl& url) {
    auto access = std::make_shared<RedisAccess>();
    access->user = url.user;
    access->password = url.password;
    access->database = url.database;
    access->timeout = kTimeout;
    if (url.tls) {
        const config::OriginTlsSettings& files = settings.origin_tls;
        auto tls = redis_tls_context({.ca = files.ca, .cert = files.cert, .key = files.key});
        if (!tls) return std::move(tls).error();
        access->tls = *std::move(tls);
    }
    return std::shared_ptr<const RedisAccess>(std::move(access));
}

// The address of the master; a message if the Sentinels don't give it in time.
Location ask_sentinels(const std::shared_ptr<const RedisAccess>& access, const RedisUrl& url) {
    boost::asio::io_context loop(1);
    Location found{.addresses = {}, .failure = "no Sentinel answers"};
    const Locate locate =
        locate_by_sentinels(loop, access, {.sentinels = url.servers, .name = url.sentinel_master});
    locate([&](Location location) {
        found = std::move(location);
        loop.stop();
    });
    loop.run_for(kTimeout * static_cast<int>(url.servers.size() + 1));
    return found;
}

}  // namespace

RedisSession::RedisSession(std::shared_ptr<const RedisAccess> access, RedisAddress address)
    : access_(std::move(access)), address_(std::move(address)) {}

RedisSession::~RedisSession() {
    if (connection_ != nullptr) connection_->close();
    // Operations that were cancelled complete here, since they use the connection.
    loop_.restart();
    loop_.poll();
}

Result<std::unique_ptr<RedisSession>> RedisSession::open(const config::Settings& settings) {
    const auto url = parse_redis_url(settings.origin);
    if (!url) return url.error();
    const auto access = access_of(settings, *url);
    if (!access) return access.error();
    std::vector<RedisAddress> addresses = url->servers;
    if (!url->sentinel_master.empty()) {
        Location location = ask_sentinels(*access, *url);
        if (location.addresses.empty()) return Error{kStoreUnavailable, location.failure};
        addresses = std::move(location.addresses);
    }
    std::string failures;
    for (const RedisAddress& address : addresses) {
        std::unique_ptr<RedisSession> session(new RedisSession(*access, address));
        const auto failed = session->connect();
        if (!failed) return session;
        failures += (failures.empty() ? "" : "; ") + failed->message;
    }
    return Error{kStoreUnavailable, failures};
}

Result<std::unique_ptr<RedisSession>> RedisSession::open_other(const RedisAddress& address) const {
    std::unique_ptr<RedisSession> session(new RedisSession(access_, address));
    if (auto failed = session->connect()) return *std::move(failed);
    return session;
}

std::optional<Error> RedisSession::connect() {
    bool is_connected = false;
    connection_ = std::make_shared<RedisConnection>(loop_, access_);
    connection_->open(address_,
                      {.connected =
                           [&] {
                               is_connected = true;
                               loop_.stop();
                           },
                       .broken =
                           [this](const std::string& why) {
                               broken_ = why;
                               loop_.stop();
                           }});
    loop_.run_for(access_->timeout);
    if (!broken_.empty()) return unreachable(address_, broken_);
    if (!is_connected) return unreachable(address_, "no connection within 3 s");
    return log_in();
}

std::optional<Error> RedisSession::log_in() {
    const auto refused = [&](const Result<RedisReply>& reply) -> std::optional<Error> {
        if (!reply) return reply.error();
        if (!reply->is_error()) return std::nullopt;
        return unreachable(address_, shown_error(reply->text, access_->password));
    };
    if (!access_->password.empty()) {
        const auto reply = access_->user.empty() ? ask({"AUTH", access_->password})
                                                 : ask({"AUTH", access_->user, access_->password});
        if (auto failed = refused(reply)) return failed;
    }
    // Other errors, such as a missing right or a refusal of all writes, are for the checks.
    const auto reply = ask({"PING"});
    if (!reply || reply->is_error("NOAUTH")) return refused(reply);
    if (access_->database == 0) return std::nullopt;
    return refused(ask({"SELECT", std::to_string(access_->database)}));
}

Result<RedisReply> RedisSession::ask(std::initializer_list<std::string_view> words) {
    if (!broken_.empty()) return unreachable(address_, broken_);
    std::optional<RedisReply> answer;
    connection_->send(redis_command(words), [&](const RedisReply* reply) {
        if (reply != nullptr) answer = *reply;
        loop_.stop();
        return true;
    });
    loop_.restart();
    loop_.run_for(2 * access_->timeout);
    if (answer) return *std::move(answer);
    // A late reply must not find the variables of this call.
    connection_->close();
    if (broken_.empty()) broken_ = "no reply within 3 s";
    return unreachable(address_, broken_);
}

}  // namespace sluice::doctor
