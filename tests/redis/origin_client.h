// An origin in Redis as a test sees it: its loop, its events, and calls that wait for their answer.
#ifndef SLUICE_TESTS_REDIS_ORIGIN_CLIENT_H_
#define SLUICE_TESTS_REDIS_ORIGIN_CLIENT_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "regional/redis/redis_origin.h"

namespace sluice::redis_test {

// Owned by one thread, on which everything happens while a method of it runs.
class OriginClient {
  public:
    // Started; not yet back. Throws where the options are refused. The usual timeout becomes 2 s,
    // since the machine of a test may be busy.
    explicit OriginClient(const std::string& url, RedisOptions options = {});

    // Runs the loop until `holds`, or for 20 s at most. Returns whether it does.
    bool run_until(const std::function<bool()>& holds);
    void run_for(std::chrono::milliseconds time);
    bool becomes_back() {
        return run_until([this] { return is_back; });
    }
    bool becomes_away() {
        return run_until([this] { return !is_back && !whys.empty(); });
    }

    std::vector<CellAnswer> read(const std::vector<CellName>& cells);
    std::vector<CellAnswer> raise(const std::vector<CellComponent>& components);
    std::vector<std::optional<CellListing>> list(const std::vector<CellName>& cells);
    // One cell, with a lifetime of a minute.
    CellAnswer raise(const CellName& cell, Count own, Incarnation incarnation = 0);
    CellAnswer read(const CellName& cell);

    Origin& origin() { return *origin_; }
    void destroy() { origin_.reset(); }

    // What the events told.
    bool is_back = false;
    std::vector<bool> backs;  // whether it remembered
    std::vector<std::string> whys;
    std::vector<std::string> refusals;
    int forgot = 0;

  private:
    boost::asio::io_context loop_;
    std::unique_ptr<Origin> origin_;
};

// A cell of a minute.
CellName cell_of(const std::string& identifier);

}  // namespace sluice::redis_test

#endif  // SLUICE_TESTS_REDIS_ORIGIN_CLIENT_H_
