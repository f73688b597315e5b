// Listening sockets that a supervisor opened and passed to this process: socket activation, see
// sd_listen_fds(3).
#ifndef SLUICE_SERVER_PASSED_SOCKETS_H_
#define SLUICE_SERVER_PASSED_SOCKETS_H_

#include <sluice/result.h>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/address.h"
#include "http/wire/listener.h"

namespace sluice::server {

// Owns the sockets, by the setting that each replaces: listen, admin_listen or grpc.listen. Several
// for one setting must have the same address. Thread-compatible.
class PassedSockets {
  public:
    // From LISTEN_FDS, LISTEN_FDNAMES and LISTEN_PID, which it removes. The name of a socket is
    // main, admin or grpc; without names there is one socket, which is main. An error if the
    // sockets are not listening TCP sockets, or a name is another. Requires that no other thread
    // runs.
    static Result<PassedSockets> from_environment();

    PassedSockets() = default;
    ~PassedSockets();
    PassedSockets(PassedSockets&& other) noexcept : sockets_(std::move(other.sockets_)) {
        other.sockets_.clear();
    }
    PassedSockets& operator=(PassedSockets&&) = delete;

    // Their addresses, as the settings have them.
    std::map<std::string, std::string> addresses() const;

    // Where `count` threads listen for a setting: at its address, which must be free, or on the
    // sockets that were passed for it. A single socket is shared by all threads; the kernel
    // distributes connections more evenly over a socket for each, which have SO_REUSEPORT. An error
    // if there are more sockets than threads.
    Result<std::vector<http::ListenAddress>> places(const std::string& setting,
                                                    const config::Address& address,
                                                    std::size_t count) const;

  private:
    std::map<std::string, std::vector<int>> sockets_;
};

}  // namespace sluice::server

#endif  // SLUICE_SERVER_PASSED_SOCKETS_H_
