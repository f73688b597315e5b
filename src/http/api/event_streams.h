// The streams of events that clients of the admin listener read.
#ifndef SLUICE_HTTP_API_EVENT_STREAMS_H_
#define SLUICE_HTTP_API_EVENT_STREAMS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "http/api/token_set.h"
#include "http/wire/exchange.h"
#include "insight/observer.h"

namespace sluice::http {

// Appends an event: the last second's traffic, the node's status and the top keys, as far as the
// caller may see them.
void write_event(std::string& text, const insight::Observer& observer, const Caller& caller);

// Sends an event a second to each stream. An event is encoded once for all streams of one caller.
//
// Owned by one serving thread.
class EventStreams {
  public:
    static constexpr std::size_t kMost = 128;
    static constexpr std::size_t kMostPerToken = 16;
    static constexpr std::size_t kTopKeys = 20;

    // The number of streams that are open: all, and those of a token. `token` is the hash of the
    // caller's token; none on a server without tokens, where kMostPerToken does not apply.
    struct Open {
        std::size_t all = 0;
        std::size_t with_token = 0;
    };
    Open count(const std::optional<Sha256>& token);

    // Begins the reply, and sends events from the next second on.
    void open(Reply& reply, Completion completion, const std::optional<Sha256>& token);

    // Sends the next event. A stream ends if its token is no longer valid or has lost the
    // permission.
    void send(const insight::Observer& observer, const TokenSet& tokens);

    std::size_t size() const { return streams_.size(); }

  private:
    struct Stream {
        ReplyStream reply;
        std::optional<Sha256> token;
        bool has_ended = false;
    };
    // The event for a caller.
    struct Event {
        const Caller* caller;
        std::string text;
    };

    const std::string& event_for(const insight::Observer& observer, const Caller& caller);

    std::vector<Stream> streams_;
    std::vector<Event> events_;  // of this second
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_EVENT_STREAMS_H_
