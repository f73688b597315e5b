#include "base/host_lookup.h"

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include <netdb.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mutex.h"
#include "base/thread.h"

namespace sluice {
namespace {

// Raised by the thread that starts a lookup, lowered by the one that has made it. Relaxed: it
// publishes nothing.
std::atomic<int> underway{0};

Error refused(const std::string& why) {
    return {kStoreFailed, why};
}

}  // namespace

void FreeAddresses::operator()(addrinfo* addresses) const {
    freeaddrinfo(addresses);
}

struct HostLookup::State {
    State(const std::string& name, std::uint16_t port)
        : host(name),
          service(std::to_string(port)),
          event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    ~State() {
        if (event >= 0) close(event);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    void look_up(int flags) {
        addrinfo hints{};
        hints.ai_socktype = SOCK_STREAM;
        hints.ai_flags = AI_NUMERICSERV | flags;
        addrinfo* found = nullptr;
        const int failed = getaddrinfo(host.c_str(), service.c_str(), &hints, &found);
        const MutexLock lock(mutex);
        error = failed;
        addresses.reset(found);
    }

    void end() const {
        const std::uint64_t one = 1;
        // Can't fail: the counter is 0.
        static_cast<void>(!write(event, &one, sizeof one));
    }

    const std::string host;
    const std::string service;
    const int event;
    Mutex mutex;
    int error SLUICE_GUARDED_BY(mutex) = EAI_FAIL;
    Addresses addresses SLUICE_GUARDED_BY(mutex);
};

Result<HostLookup> HostLookup::start(const std::string& host, std::uint16_t port) {
    auto state = std::make_shared<State>(host, port);
    if (state->event < 0)
        return refused("the system refused a descriptor: " +
                       std::generic_category().message(errno));
    state->look_up(AI_NUMERICHOST);
    const bool is_numeric = [&] {
        const MutexLock lock(state->mutex);
        return state->error == 0;
    }();
    if (is_numeric) {
        state->end();
        return HostLookup(std::move(state));
    }
    if (underway.fetch_add(1, std::memory_order_relaxed) >= kMostUnderway) {
        underway.fetch_sub(1, std::memory_order_relaxed);
        return refused("the resolver hangs: " + std::to_string(kMostUnderway) +
                       " lookups are underway");
    }
    try {
        start_thread({.name = "sluice-resolve"}, [state] {
            state->look_up(0);
            underway.fetch_sub(1, std::memory_order_relaxed);
            state->end();
        }).detach();
    } catch (const std::system_error& failure) {
        underway.fetch_sub(1, std::memory_order_relaxed);
        return refused(std::string("the system refused a thread: ") + failure.what());
    } catch (...) {
        underway.fetch_sub(1, std::memory_order_relaxed);
        throw;
    }
    return HostLookup(std::move(state));
}

int HostLookup::descriptor() const {
    return state_->event;
}

Result<Addresses> HostLookup::take() {
    const MutexLock lock(state_->mutex);
    if (state_->error != 0) return refused(gai_strerror(state_->error));
    return std::move(state_->addresses);
}

}  // namespace sluice
