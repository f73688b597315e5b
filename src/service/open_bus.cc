#include "service/open_bus.h"

#include <utility>

#include "base/random.h"
#include "global/memory_bus.h"
#include "global/nats/nats_bus.h"
#include "global/stored_name.h"
#include "url/nats_url.h"
#include "url/store_url.h"

namespace sluice {
namespace {

Error bus_error(Error error) {
    if (!error.message.starts_with("bus")) error.message = "bus: " + error.message;
    return error;
}

Result<std::unique_ptr<Bus>> open_nats(const Options& options, Bus::Receivers receivers) {
    auto url = parse_nats_url(options.bus);
    if (!url) return bus_error(std::move(url).error());
    const BusTls& tls = options.bus_tls;
    auto bus = NatsBus::open({.url = *std::move(url),
                              .tls = {.ca = tls.ca, .cert = tls.cert, .key = tls.key},
                              .credentials = options.bus_credentials,
                              .region = options.region,
                              .workspaces = stored_workspaces(options.bus_workspaces),
                              .seed = system_random(),
                              .on_thread_failure = options.on_thread_failure},
                             std::move(receivers));
    if (!bus) return bus_error(std::move(bus).error());
    return bus;
}

}  // namespace

std::optional<Error> bus_without_global(const Options& options) {
    if (options.bus.empty() || !options.global.empty()) return std::nullopt;
    return Error{kInvalidOption,
                 "bus is set and global is empty; allowed with a bus: the global store of the "
                 "regions, which carries what the bus loses"};
}

std::vector<std::string> stored_workspaces(const std::vector<std::string>& workspaces) {
    std::vector<std::string> stored;
    stored.reserve(workspaces.size());
    for (const std::string& workspace : workspaces)
        stored.push_back(stored_name({.workspace = workspace,
                                      .name_space = {},
                                      .identifier = {},
                                      .duration = {},
                                      .sequence = 0})
                             .workspace);
    return stored;
}

Result<std::unique_ptr<Bus>> open_bus(const Options& options, Bus::Receivers receivers) {
    if (auto error = invalid_bus(options.bus)) return bus_error(*std::move(error));
    if (is_nats_url(options.bus)) return open_nats(options, std::move(receivers));
    const std::string name = options.bus.substr(kMemoryScheme.size());
    return MemoryBus::named(name)->join(options.region, std::move(receivers));
}

}  // namespace sluice
