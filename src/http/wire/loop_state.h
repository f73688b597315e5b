// What the connections of one thread share.
#ifndef SLUICE_HTTP_WIRE_LOOP_STATE_H_
#define SLUICE_HTTP_WIRE_LOOP_STATE_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "http/wire/buffer_ledger.h"
#include "http/wire/counters.h"
#include "http/wire/exchange.h"
#include "http/wire/limits.h"
#include "http/wire/pending_exchange.h"
#include "http/wire/reply_writer.h"
#include "http/wire/timeout_list.h"

namespace sluice::http {

class Connection;

// Connections take turns, so one input buffer, one output buffer and one request serve all of them:
// what a connection keeps for itself between turns are unfinished requests and unsent answers. That
// is what makes an idle connection small and a busy one stay in the processor's cache.
//
// Owned by one thread.
class LoopState {
  public:
    // `wake` must arrange for run_queue() to be called soon, and not from within itself.
    LoopState(Handler& request_handler, const WireLimits& wire_limits, std::function<void()> wake);
    ~LoopState();
    LoopState(const LoopState&) = delete;
    LoopState& operator=(const LoopState&) = delete;

    // Reads the clocks. Called once per turn of the event loop, not per request.
    void set_time();

    // Gives `connection` another turn.
    void enqueue(Connection* connection);
    void run_queue();
    bool has_queue() const { return !queue_.empty(); }

    // Takes `connection` out of the timeout_list. It is destroyed in clear_graveyard(), since it is
    // still at work.
    void defer_delete(Connection* connection);
    void clear_graveyard();

    // Closes the connections that hold most until the rest keeps within limits.buffered. Not while
    // a connection uses the scratch memory below.
    void shed_load();

    std::unique_ptr<PendingExchange> take_exchange();
    void return_exchange(std::unique_ptr<PendingExchange> exchange);

    Handler& handler;
    const WireLimits limits;
    WireCounters counters;
    TimeoutList<std::unique_ptr<Connection>> timeout_list;
    ReplyWriter writer;
    std::chrono::milliseconds now{};  // since some point, for the timeout_list
    bool is_draining = false;
    BufferLedger<Connection> buffers;  // what connections keep between turns
    std::size_t awaited = 0;           // exchanges whose answers are still to come

    // Scratch memory of the connection whose turn it is.
    std::vector<char> input;
    std::string output;
    RequestView request;

  private:
    std::function<void()> wake_;
    std::vector<Connection*> queue_;
    std::vector<Connection*> running_;
    std::vector<std::unique_ptr<Connection>> graveyard_;
    std::vector<std::unique_ptr<PendingExchange>> exchanges_;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_LOOP_STATE_H_
