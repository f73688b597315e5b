// A connection to a server over TCP, with TLS or without.
#ifndef SLUICE_GRPC_CLIENT_CLIENT_SOCKET_H_
#define SLUICE_GRPC_CLIENT_CLIENT_SOCKET_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <sys/types.h>

#include "grpc/client/client_tls.h"

using SSL = struct ssl_st;
struct addrinfo;

namespace sluice::grpc {

// A non-blocking connection, and the event that interrupts its waits. Only the resolution of a
// host's name takes as long as the system needs for it.
//
// Owned by one thread, which must have blocked or ignored SIGPIPE.
class ClientSocket {
  public:
    // `stop_event` is an eventfd that is readable once waits are to end.
    explicit ClientSocket(int stop_event)
        : stop_event_(stop_event), tls_(nullptr, nullptr), context_(nullptr, nullptr) {}
    ~ClientSocket();
    ClientSocket(const ClientSocket&) = delete;
    ClientSocket& operator=(const ClientSocket&) = delete;

    // Both return why they failed; empty on success. `timeout` is for the lookup of the host, and
    // for each of its addresses.
    std::string connect(const std::string& host,
                        std::uint16_t port,
                        std::chrono::milliseconds timeout);
    std::string start_tls(const ClientTlsFiles& files,
                          const std::string& host,
                          std::chrono::milliseconds timeout);

    enum class Ready { kSocket, kTimeout, kStopped };  // kSocket: or another descriptor
    Ready wait(short events, std::chrono::milliseconds timeout) const;

    // The number of bytes read, 0 if there are none for now, -1 at the end.
    ssize_t read(std::span<char> to);

    // False at the end. Leaves in `bytes` what the socket does not take.
    bool write(std::string& bytes);

  private:
    Ready wait_for(int descriptor, short events, std::chrono::milliseconds timeout) const;
    std::string connect(const addrinfo& address, std::chrono::milliseconds timeout);
    std::string shake_hands(std::chrono::milliseconds timeout);

    const int stop_event_;
    int socket_ = -1;
    std::unique_ptr<SSL, void (*)(SSL*)> tls_;  // null: none
    ClientTlsContext context_;                  // of tls_
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_CLIENT_CLIENT_SOCKET_H_
