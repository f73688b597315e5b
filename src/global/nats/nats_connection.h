// One connection to a NATS server, from a successful connect to its first failure.
#ifndef SLUICE_GLOBAL_NATS_NATS_CONNECTION_H_
#define SLUICE_GLOBAL_NATS_NATS_CONNECTION_H_

#include <sluice/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/thread.h"
#include "global/bus_inbox.h"
#include "url/nats_url.h"
#include "url/url_parts.h"

typedef struct __natsConnection natsConnection;      // NOLINT: of the library
typedef struct __natsSubscription natsSubscription;  // NOLINT: of the library

namespace sluice {

// Paths of PEM files, or empty.
struct NatsTls {
    std::string ca = {};    // trusted authorities; empty: those of the system
    std::string cert = {};  // this process's certificate, where the server requires one
    std::string key = {};   // its private key
};

// How to use a bus: login and subjects.
struct NatsAccess {
    NatsUrl url;
    NatsTls tls = {};
    std::string credentials = {};  // the path of a file with a JWT and its key; empty: none
    std::string region = {};       // in the name of the connection
    std::vector<std::string> subjects = {};  // to subscribe to
    std::string greeting = {};               // a message that shows whether publishing is permitted
    std::string greeting_subject = {};
    // The name of the bus's own thread, and what is called when it or the library's fails.
    ThreadOptions thread = {.name = "sluice-nats"};
};

// Checks the files. The error names the file and what is wrong with it.
std::optional<Error> unusable_files(const NatsAccess& access);

// Owned by one thread. Calls may block for a few seconds.
class NatsConnection {
  public:
    using Opened = std::variant<std::unique_ptr<NatsConnection>, std::string>;

    // Connects, subscribes, and waits until the server has accepted both, and the greeting. On
    // failure, returns the server and the library's words. Messages are passed to the inbox on a
    // thread of the library.
    static Opened open(const NatsAccess& access,
                       const HostPort& server,
                       const std::shared_ptr<BusInbox>& inbox);
    ~NatsConnection();
    NatsConnection(const NatsConnection&) = delete;
    NatsConnection& operator=(const NatsConnection&) = delete;

    // Both return why the connection is lost, if it is.
    std::optional<std::string> publish(const std::string& subject, const std::string& bytes);
    std::optional<std::string> problem();

    // Messages dropped since the last call because the inbox was too slow.
    std::uint64_t take_overflowed();

  private:
    NatsConnection(natsConnection* connection, std::string server)
        : connection_(connection), server_(std::move(server)) {}
    // Each returns what failed, if anything did.
    std::optional<std::string> subscribe(const NatsAccess& access,
                                         const std::string& subject,
                                         const std::shared_ptr<BusInbox>& inbox);
    std::optional<std::string> greet(const NatsAccess& access);
    std::string words() const;

    natsConnection* const connection_;
    const std::string server_;  // for messages
    std::vector<natsSubscription*> subscriptions_;
    std::uint64_t overflowed_ = 0;  // as the library counts them
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_NATS_NATS_CONNECTION_H_
