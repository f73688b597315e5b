// The thread on which a node talks to its region's origin.
#ifndef SLUICE_SERVICE_REGION_THREAD_H_
#define SLUICE_SERVICE_REGION_THREAD_H_

#include <sluice/limiter.h>
#include <sluice/result.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "counter/table.h"
#include "regional/origin.h"
#include "regional/region.h"
#include "service/pending_question.h"
#include "service/question.h"

namespace sluice {

// RegionThread owns the origin, the region and the thread that they live on. Thread-safe.
class RegionThread {
  public:
    // Waits for the first word of the origin, but not for long: a region that can't be
    // reached is away. `table` must outlive it. `counted` is called, on its thread, with each entry
    // whose regional count may have grown; it may be empty.
    static Result<std::unique_ptr<RegionThread>> start(Table& table,
                                                       const Options& options,
                                                       std::function<void(Entry&)> counted);

    ~RegionThread();
    RegionThread(const RegionThread&) = delete;
    RegionThread& operator=(const RegionThread&) = delete;

    // True while the origin is unavailable; decide from local counts.
    bool is_unavailable() const;
    // Whether the calling thread is one of its own, which can't wait for itself.
    bool is_own_thread() const;

    // Has the origin decide the question and finishes it, within Options::origin_timeout after
    // `since`. Where the region's thread is stuck, another thread decides by what is held, shortly
    // after. Returns none if it is finished already: it was
    // decided by what is held, since too much waits or there is no memory. Throws nothing.
    using Time = PendingQuestion::Time;
    std::shared_ptr<PendingQuestion> ask(std::shared_ptr<Question> question, Time since);
    // Decides by what is held if the region's thread has not got to it, and finishes it.
    void expire(PendingQuestion& question);

    // How long after its deadline a question is decided by another thread.
    static constexpr std::chrono::milliseconds kGrace{50};
    // Questions are queued until as many requests wait. Above it, they are decided by what is held.
    static constexpr std::size_t kMostPending = 16'384;

    // All that the origin holds of some cells. None for each while it is unavailable.
    void list(std::vector<CellName> cells, Origin::Listed listed);
    // How listings name this node.
    const std::string& node() const;

    // Tells the origin what it has not heard yet, for up to `patience`. Then finishes what waits,
    // and ends the thread. From then on the region is unavailable. By one thread, which is not its
    // own. False if the thread is stuck in a call a second later: it then goes on to use this
    // object.
    [[nodiscard]] bool close(std::chrono::milliseconds patience);

    struct Stats {
        Region::Stats region;
        std::uint64_t fallbacks;  // decisions that were the origin's, and were made without it
        std::uint64_t overflows;  // of these, those for which the queue had no room
    };
    Stats stats() const;
    void count_fallback();

  private:
    class Core;
    explicit RegionThread(std::unique_ptr<Core> core);
    std::unique_ptr<Core> core_;
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_REGION_THREAD_H_
