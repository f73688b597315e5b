// Looks up the addresses of a host without waiting for a resolver that hangs.
#ifndef SLUICE_BASE_HOST_LOOKUP_H_
#define SLUICE_BASE_HOST_LOOKUP_H_

#include <sluice/result.h>

#include <cstdint>
#include <memory>
#include <string>

struct addrinfo;

namespace sluice {

struct FreeAddresses {
    void operator()(addrinfo* addresses) const;
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

// One lookup. getaddrinfo() can't be interrupted, and takes half a minute where no name server
// answers: it runs on a thread of its own, which owns all that it uses. The destruction of a lookup
// that has not ended abandons that thread.
//
// Thread-compatible.
class HostLookup {
  public:
    // The most abandoned and other lookups of a process that are underway at a time.
    static constexpr int kMostUnderway = 32;

    // Begins. An error, kStoreFailed, if the system refuses a thread or a descriptor, or too many
    // lookups are underway. An address in figures is found without a thread.
    static Result<HostLookup> start(const std::string& host, std::uint16_t port);

    // Readable once the lookup has ended. Owned by this object.
    int descriptor() const;
    // The addresses, or why there are none. Once, and requires that the lookup has ended.
    Result<Addresses> take();

  private:
    struct State;
    explicit HostLookup(std::shared_ptr<State> state) : state_(std::move(state)) {}

    std::shared_ptr<State> state_;  // shared with the thread
};

}  // namespace sluice

#endif  // SLUICE_BASE_HOST_LOOKUP_H_
