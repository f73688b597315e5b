// An origin for tests: its event loop, its events, and blocking calls.
#ifndef SLUICE_TESTS_SUPPORT_ORIGIN_CLIENT_H_
#define SLUICE_TESTS_SUPPORT_ORIGIN_CLIENT_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "regional/redis/redis_origin.h"

namespace sluice::redis_test {

inline constexpr const char* kRegion = "here";

// Owned by one thread; its loop runs on that thread, within its methods.
class OriginClient {
  public:
    using Open = std::function<std::unique_ptr<Origin>(boost::asio::io_context& loop)>;

    // Started, and not yet available.
    explicit OriginClient(const Open& open);
    // At a Redis. Throws if the options are rejected. The default timeout is 2 s, since the machine
    // of a test may be busy.
    explicit OriginClient(const std::string& url, RedisOptions options = {});

    // Runs the loop until `holds`, or for 20 s at most. Returns whether it does.
    bool run_until(const std::function<bool()>& holds);
    void run_for(std::chrono::milliseconds time);
    bool becomes_available() {
        return run_until([this] { return is_available; });
    }
    bool becomes_unavailable() {
        return run_until([this] { return !is_available && !failures.empty(); });
    }
    // Sends heartbeats until one is refused, or until one succeeds.
    bool becomes_refused();
    bool becomes_accepted();
    // Sends a heartbeat every 100 ms until `holds`, or for 20 s at most. Returns whether it does.
    bool heartbeat_until(const std::function<bool()>& holds);

    std::vector<KeyAnswer> sync(const std::vector<KeyComponents>& keys);
    std::vector<SpendAnswer> spend(const std::vector<KeySpend>& keys);
    HeartbeatAnswer heartbeat();
    std::vector<std::optional<CellListing>> list(const std::vector<CellName>& cells);
    std::string node() const { return origin_->node(); }
    std::optional<std::vector<NodeNote>> leave_note(const std::string& note);

    // One key, whose previous cell is empty, with a lifetime of two minutes.
    KeyAnswer sync(const CellName& cell, Count own, Incarnation incarnation = 0);
    // Reads the current cell of one key.
    std::optional<CellTotals> read(const CellName& cell);

    Origin& origin() { return *origin_; }
    void destroy() { origin_.reset(); }

    // Recorded events.
    bool is_available = false;
    std::vector<bool> intact;  // by `available` event
    std::vector<std::string> failures;
    std::vector<std::string> refusals;
    int losses = 0;

  private:
    boost::asio::io_context loop_;
    // An origin may answer from a thread of its own.
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
        loop_.get_executor()};
    std::unique_ptr<Origin> origin_;
};

// A cell of a window of one minute.
CellName cell_of(const std::string& identifier);

// This node's components of a key with a lifetime of two minutes.
KeyComponents components_of(const CellName& cell, Count own, Count previous = 0);

}  // namespace sluice::redis_test

#endif  // SLUICE_TESTS_SUPPORT_ORIGIN_CLIENT_H_
