#include "support/redis_cluster.h"

#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "support/process.h"

namespace sluice::redis_test {
namespace {

using namespace std::chrono_literals;

void wait_for(const std::string& what, const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + server_test::kTimeout;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > deadline)
            throw std::runtime_error("the cluster took too long: " + what);
        std::this_thread::sleep_for(20ms);
    }
}

void must(RedisServer& node, const std::vector<std::string>& words) {
    const Reply reply = node.command(words);
    if (reply.type == Reply::Type::kError)
        throw std::runtime_error(words[0] + " " + words[1] + ": " + reply.text);
}

}  // namespace

RedisCluster::RedisCluster(Shape shape, RedisServerOptions options) : shape_(shape) {
    options.cluster = true;
    for (std::size_t i = 0; i < shape.masters + shape.replicas; ++i)
        nodes_.push_back(std::make_unique<RedisServer>(options));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        // Epochs that differ from the start spare the nodes a quarrel about them.
        must(node(i), {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
        must(node(i), {"CLUSTER", "MEET", "127.0.0.1", std::to_string(node(0).port())});
    }
    for (std::size_t i = 0; i < shape.masters; ++i) {
        std::vector<std::string> words = {"CLUSTER", "ADDSLOTS"};
        for (int slot = 0; slot < kSlots; ++slot)
            if (first_owner(slot) == i) words.push_back(std::to_string(slot));
        must(node(i), words);
    }
    wait_for("nodes meet", [&] { return is_whole(); });
    for (std::size_t i = 0; i < shape.replicas; ++i) {
        const std::string master = id(i);
        RedisServer& replica = node(shape.masters + i);
        must(replica, {"CLUSTER", "REPLICATE", master});
        wait_for("a replica connects", [&] {
            return replica.command({"INFO", "replication"}).text.find("master_link_status:up") !=
                   std::string::npos;
        });
    }
}

std::string RedisCluster::id(std::size_t number) {
    return node(number).command({"CLUSTER", "MYID"}).text;
}

std::size_t RedisCluster::first_owner(int slot) const {
    return static_cast<std::size_t>(slot) * shape_.masters / kSlots;
}

void RedisCluster::begin_move(int slot, std::size_t from, std::size_t to) {
    const std::string number = std::to_string(slot);
    must(node(to), {"CLUSTER", "SETSLOT", number, "IMPORTING", id(from)});
    must(node(from), {"CLUSTER", "SETSLOT", number, "MIGRATING", id(to)});
}

void RedisCluster::move_keys(int slot, std::size_t from, std::size_t to) {
    for (;;) {
        const Reply keys =
            node(from).command({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "100"});
        if (keys.list.empty()) return;
        for (const Reply& key : keys.list) {
            must(node(from),
                 {"MIGRATE", "127.0.0.1", std::to_string(node(to).port()), key.text, "0", "5000"});
        }
    }
}

void RedisCluster::end_move(int slot, std::size_t from, std::size_t to) {
    const std::string owner = id(to);
    must(node(to), {"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", owner});
    must(node(from), {"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", owner});
}

bool RedisCluster::is_whole() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const std::string info = node(i).command({"CLUSTER", "INFO"}).text;
        const std::string known = "cluster_known_nodes:" + std::to_string(nodes_.size());
        if (info.find("cluster_state:ok") == std::string::npos) return false;
        if (info.find(known) == std::string::npos) return false;
    }
    return true;
}

}  // namespace sluice::redis_test
