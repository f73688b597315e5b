// A Redis Cluster, started for a test.
#ifndef SLUICE_TESTS_SUPPORT_REDIS_CLUSTER_H_
#define SLUICE_TESTS_SUPPORT_REDIS_CLUSTER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "support/redis_server.h"

namespace sluice::redis_test {

inline constexpr int kSlots = 16384;

// Masters that share the slots evenly, and replicas: one for each of the first masters. Nodes are
// numbered from 0, masters first. A master that is gone is replaced by its replica after about two
// seconds. Owned by one thread.
class RedisCluster {
  public:
    struct Shape {
        std::size_t masters = 3;
        std::size_t replicas = 0;
    };

    // Started, with all slots served; throws if that fails.
    explicit RedisCluster(Shape shape, RedisServerOptions options = {});

    RedisServer& node(std::size_t number) { return *nodes_[number]; }
    std::string id(std::size_t number);
    // The master that was given this slot at the start.
    std::size_t first_owner(int slot) const;

    // The steps of moving a slot with its keys, as an operator would.
    void begin_move(int slot, std::size_t from, std::size_t to);
    void move_keys(int slot, std::size_t from, std::size_t to);
    void end_move(int slot, std::size_t from, std::size_t to);

  private:
    bool is_whole();

    Shape shape_;
    std::vector<std::unique_ptr<RedisServer>> nodes_;
};

}  // namespace sluice::redis_test

#endif  // SLUICE_TESTS_SUPPORT_REDIS_CLUSTER_H_
