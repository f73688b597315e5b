// The messages of xDS, Envoy's discovery protocol, in its form "state of the world".
#ifndef SLUICE_GRPC_CLIENT_DISCOVERY_H_
#define SLUICE_GRPC_CLIENT_DISCOVERY_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice::grpc {

// One stream's conversation about one type of resources. Each response holds all resources; it is
// accepted with its version, or refused with an error and the version that stays in force.
//
// Without I/O; owned by one thread.
class Discovery {
  public:
    struct Options {
        std::string node_id;
        std::string cluster{};  // of the node; empty: none
        std::string type_url;   // "type.googleapis.com/package.Message"
    };
    struct Handlers {
        // Applies encoded resources. Returns an error message if they are refused.
        std::function<std::optional<std::string>(std::span<const std::string_view> resources)>
            apply;
        // A response is refused, or malformed, before its resources are read.
        std::function<void(const std::string& why)> on_invalid{};
    };

    explicit Discovery(Options options, Handlers handlers);

    // The encoded request that starts a stream. It names the version in force, if any.
    std::string start();

    // Handles an encoded response and returns the encoded request that answers it. None if the
    // response is malformed: the stream should end.
    std::optional<std::string> on_response(std::string_view bytes);

    // The version in force; empty before the first.
    const std::string& version() const { return version_; }

  private:
    std::string request(std::string_view nonce, const std::optional<std::string>& error) const;

    const Options options_;
    const Handlers handlers_;
    std::string version_;
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_CLIENT_DISCOVERY_H_
