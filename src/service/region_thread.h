// The thread on which a node talks to its region's origin.
#ifndef SLUICE_SERVICE_REGION_THREAD_H_
#define SLUICE_SERVICE_REGION_THREAD_H_

#include <sluice/limiter.h>
#include <sluice/result.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "counter/table.h"
#include "regional/origin.h"
#include "regional/region.h"
#include "service/question.h"

namespace sluice {

// RegionThread owns the origin, the region and the thread that they live on. Thread-safe.
class RegionThread {
  public:
    // Waits for the first word of the origin, but not for long: a region that can't be reached is
    // away. `table` must outlive it.
    // `counted` is called, on its thread, with each entry whose regional count may have grown; it
    // may be empty.
    static Result<std::unique_ptr<RegionThread>> start(Table& table,
                                                       const Options& options,
                                                       std::function<void(Entry&)> counted);

    ~RegionThread();
    RegionThread(const RegionThread&) = delete;
    RegionThread& operator=(const RegionThread&) = delete;

    // Nobody need ask: the counts at hand are the best there are.
    bool is_away() const;
    bool is_this_thread() const;

    // Has the counts read, has the question decided, and finishes it.
    void ask(std::shared_ptr<Question> question);

    // All that the origin holds of some cells. None for each while it is away.
    void list(std::vector<CellName> cells, Origin::Listed listed);
    // How listings name this node.
    const std::string& node() const;

    // Tells the origin what it has not heard yet, for up to `patience`. Then finishes what waits,
    // and ends the thread. From then on the region is away. By one thread, which is not its own.
    void close(std::chrono::milliseconds patience);

    struct Counts {
        Region::Counts region;
        std::uint64_t fallbacks;  // decisions that needed fresher counts and were made without
    };
    Counts counts() const;
    // A decision at `now` was one.
    void count_fallback(UnixTime now);

  private:
    class Core;
    explicit RegionThread(std::unique_ptr<Core> core);
    std::unique_ptr<Core> core_;
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_REGION_THREAD_H_
