#include "support/redis_server.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include <hiredis/hiredis.h>

#include "support/process.h"
#include "support/server.h"

namespace sluice::redis_test {
namespace {

using server_test::kTimeout;

constexpr timeval kCommandTimeout{30, 0};

// A node of a cluster listens on the port 10000 above its own as well.
constexpr std::uint16_t kHighestClusterPort = 65535 - 10000;

// The kernel hands out high ports mostly; one of the lower half is free as likely as not.
std::uint16_t free_port_for(bool cluster) {
    const std::uint16_t port = server_test::free_port();
    if (!cluster || port <= kHighestClusterPort) return port;
    return static_cast<std::uint16_t>(20'000 + port % 12'000);
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

Reply converted(const redisReply& from) {
    Reply reply;
    switch (from.type) {
        case REDIS_REPLY_STRING:
        case REDIS_REPLY_STATUS:
            reply.type = Reply::Type::kText;
            reply.text.assign(from.str, from.len);
            break;
        case REDIS_REPLY_ERROR:
            reply.type = Reply::Type::kError;
            reply.text.assign(from.str, from.len);
            break;
        case REDIS_REPLY_INTEGER:
            reply.type = Reply::Type::kNumber;
            reply.number = from.integer;
            break;
        case REDIS_REPLY_ARRAY:
            reply.type = Reply::Type::kList;
            for (std::size_t i = 0; i < from.elements; ++i)
                reply.list.push_back(converted(*from.element[i]));
            break;
        default:
            break;
    }
    return reply;
}

void append(std::vector<std::string>& words, std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
}

}  // namespace

RedisServer::RedisServer(RedisServerOptions options)
    : options_(std::move(options)), scratch_(std::make_unique<server_test::ScratchFolder>()) {
    std::signal(SIGPIPE, SIG_IGN);  // hiredis writes to connections that the server has closed
    if (options_.tls) certificate_ = make_certificate(*scratch_, "redis", options_.tls_name);
    // Another process may take a port that was free a moment ago; then another one is tried.
    for (int tries = 0; tries < 5; ++tries) {
        choose_ports();
        process_.start(arguments(), scratch_->path("log"));
        if (becomes_ready()) return;
        kill();
    }
    throw std::runtime_error("redis-server did not become ready; it wrote:\n" +
                             server_test::read_file(scratch_->path("log")));
}

RedisServer::~RedisServer() {
    kill();
}

std::string RedisServer::url() const {
    const std::string user = options_.password.empty() ? "" : ":" + options_.password + "@";
    return "redis://" + user + "127.0.0.1:" + std::to_string(port_);
}

void RedisServer::start() {
    if (!process_.has_ended()) return;
    process_.start(arguments(), scratch_->path("log"));
    if (becomes_ready()) return;
    throw std::runtime_error("redis-server did not come back; it wrote:\n" +
                             server_test::read_file(scratch_->path("log")));
}

void RedisServer::kill() {
    disconnect();
    process_.kill();
}

void RedisServer::restart_empty() {
    kill();
    start();
}

// Redis renames a finished snapshot to its place, which no file can take if a folder is there.
void RedisServer::block_snapshots() {
    std::filesystem::create_directories(scratch_->path("dump.rdb/in-the-way"));
}

Reply RedisServer::command(const std::vector<std::string>& words) {
    if (client_ == nullptr && !connect()) throw std::runtime_error("redis-server is not there");
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
        texts.push_back(word.data());
        sizes.push_back(word.size());
    }
    void* const answer =
        redisCommandArgv(client_, static_cast<int>(words.size()), texts.data(), sizes.data());
    if (answer == nullptr) {
        const std::string why = client_->errstr;
        disconnect();
        throw std::runtime_error("redis-server did not answer " + words.front() + ": " + why);
    }
    Reply reply = converted(*static_cast<const redisReply*>(answer));
    freeReplyObject(answer);
    return reply;
}

void RedisServer::choose_ports() {
    port_ = free_port_for(options_.cluster);
    if (options_.tls) tls_port_ = free_port_for(options_.cluster);
}

std::vector<std::string> RedisServer::arguments() const {
    std::vector<std::string> words = {"redis-server"};
    // A Sentinel writes what it learns into its configuration.
    if (!options_.sentinel.empty())
        append(words, {scratch_->write("sentinel.conf", options_.sentinel), "--sentinel"});
    append(words, {"--bind", "127.0.0.1", "--port", std::to_string(port_)});
    append(words, {"--unixsocket", socket_path(), "--dir", scratch_->path("")});
    append(words, {"--save", "", "--appendonly", "no", "--daemonize", "no"});
    // A test that is busy elsewhere must not see its connections closed, nor a pause be noticed.
    append(words, {"--timeout", "0", "--repl-diskless-sync-delay", "0"});
    if (!options_.password.empty()) {
        append(words, {"--requirepass", options_.password, "--masterauth", options_.password});
    }
    if (options_.tls) {
        append(words, {"--tls-port", std::to_string(tls_port_)});
        append(words, {"--tls-cert-file", certificate_.cert, "--tls-key-file", certificate_.key});
        append(words, {"--tls-ca-cert-file", certificate_.cert, "--tls-auth-clients", "optional"});
    }
    if (options_.cluster) {
        append(words, {"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"});
        append(words, {"--cluster-node-timeout", "1000"});
    }
    words.insert(words.end(), options_.flags.begin(), options_.flags.end());
    return words;
}

bool RedisServer::becomes_ready() {
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (std::chrono::steady_clock::now() < deadline) {
        if (process_.has_ended()) return false;
        if (connect() && command({"PING"}).text == "PONG") {
            add_user();
            return true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

void RedisServer::add_user() {
    if (options_.acl.empty()) return;
    std::vector<std::string> words = {"ACL", "SETUSER"};
    for (const std::string& word : words_of(options_.acl))
        words.push_back(word);
    if (command(words).type == Reply::Type::kError)
        throw std::runtime_error("redis-server refused the rule " + options_.acl);
}

bool RedisServer::connect() {
    disconnect();
    client_ = redisConnectUnixWithTimeout(socket_path().c_str(), kCommandTimeout);
    if (client_ == nullptr || client_->err != 0) {
        disconnect();
        return false;
    }
    redisSetTimeout(client_, kCommandTimeout);
    return options_.password.empty() || command({"AUTH", options_.password}).text == "OK";
}

void RedisServer::disconnect() {
    if (client_ != nullptr) redisFree(client_);
    client_ = nullptr;
}

}  // namespace sluice::redis_test
