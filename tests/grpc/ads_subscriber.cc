// Subscribes to an ADS server and prints what happens, for tests: `ads_subscriber PORT`
//
// A resource that begins with "bad" makes its response refused. Ends with its standard input.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "grpc/client/ads_client.h"

namespace {

using namespace std::chrono_literals;

void print(std::string_view event, std::string_view text) {
    std::printf("%.*s %.*s\n",
                static_cast<int>(event.size()),
                event.data(),
                static_cast<int>(text.size()),
                text.data());
    std::fflush(stdout);
}

std::optional<std::string> apply(std::span<const std::string_view> resources) {
    std::string all;
    for (const std::string_view resource : resources) {
        if (resource.starts_with("bad")) return "a resource is bad";
        if (resource.size() > 100) {
            all += std::to_string(resource.size()) + " bytes,";
        } else {
            (all += resource) += ',';
        }
    }
    print("applied", all);
    return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: ads_subscriber PORT\n");
        return 2;
    }
    const sluice::grpc::AdsClient client(
        {.host = "127.0.0.1",
         .port = static_cast<std::uint16_t>(std::atoi(argv[1])),
         .discovery = {.node_id = "node-1", .type_url = "type.googleapis.com/test.Rules"},
         .max_message = 1024UL * 1024,
         .first_delay = 50ms,
         .last_delay = 200ms,
         .ping_interval = 300ms},
        {.resources = {.apply = apply},
         .on_connected = [] { print("connected", ""); },
         .on_disconnected = [](std::string_view why) { print("disconnected", why); }});
    while (std::getchar() != EOF) {
    }
    return 0;
}
