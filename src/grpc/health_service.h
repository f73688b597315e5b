// The health protocol of gRPC, grpc.health.v1.
#ifndef SLUICE_GRPC_HEALTH_SERVICE_H_
#define SLUICE_GRPC_HEALTH_SERVICE_H_

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "grpc/method.h"

namespace sluice::grpc {

// All names share one state: the server serves, or does not yet or no longer. Names that were not
// given are not found.
//
// Owned by the thread of the sessions.
class HealthService {
  public:
    // `is_serving` returns the state; it is called at each check.
    HealthService(std::vector<std::string> names, std::function<bool()> is_serving);

    // Adds Check and Watch. The service must outlive the calls.
    void add_to(MethodRegistry& methods);

    // Sends the state to the clients that watch it, if it has changed.
    void publish();

  private:
    class Watch;

    void check(UnaryCall& call) const;
    bool has(std::string_view name) const;

    const std::vector<std::string> names_;
    const std::function<bool()> is_serving_;
    std::set<Watch*> watches_;
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_HEALTH_SERVICE_H_
