#include "support/nodes.h"

#include <future>
#include <stdexcept>
#include <utility>

#include "support/eventually.h"

namespace sluice::regional_test {

Limiter make_node(const std::string& origin, std::chrono::milliseconds timeout) {
    auto node = Limiter::create(
        {.region = "test", .max_keys = 10'000, .origin = origin, .origin_timeout = timeout});
    if (!node) throw std::runtime_error(node.error().message);
    return *std::move(node);
}

std::vector<Limiter> make_nodes(std::size_t count,
                                const std::string& origin,
                                std::chrono::milliseconds timeout) {
    std::vector<Limiter> nodes;
    for (std::size_t i = 0; i < count; ++i)
        nodes.push_back(make_node(origin, timeout));
    return nodes;
}

server_test::ServerOptions sharing(const std::string& origin,
                                   const std::vector<std::string>& flags) {
    server_test::ServerOptions options{
        .flags = {"--origin", origin, "--threads", "1", "--max-keys", "10000"}};
    options.flags.insert(options.flags.end(), flags.begin(), flags.end());
    return options;
}

Servers make_servers(std::size_t count,
                     const std::string& origin,
                     const std::vector<std::string>& flags) {
    Servers servers;
    for (std::size_t i = 0; i < count; ++i)
        servers.push_back(std::make_unique<server_test::Server>(sharing(origin, flags)));
    return servers;
}

Inspection inspect(Limiter& node, const Request& request, UnixTime now) {
    std::promise<Result<Inspection>> promise;
    node.inspect(request, now, [&](Result<Inspection> inspection) {
        promise.set_value(std::move(inspection));
    });
    auto inspection = promise.get_future().get();
    if (!inspection) throw std::runtime_error(inspection.error().message);
    return *std::move(inspection);
}

bool becomes_synced(Limiter& node, const Request& request, UnixTime now) {
    return eventually([&] { return !inspect(node, request, now).unsynced; });
}

}  // namespace sluice::regional_test
