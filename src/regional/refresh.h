// Refresh: what the others have spent is read from the origin before a decision relies on it.
#ifndef SLUICE_REGIONAL_REFRESH_H_
#define SLUICE_REGIONAL_REFRESH_H_

#include <sluice/limiter.h>
#include <sluice/time.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "counter/table.h"
#include "regional/origin.h"

namespace sluice {

// Refresh reads a key once however many wait for it: whoever asks while its read is underway waits
// for that one. All that is asked for before send() goes out in one call, the current and the
// previous cell of each key together.
//
// A stepped object: it has no thread, no socket and no clock. Thread-compatible. Must not be
// destroyed before its origin.
class Refresh {
  public:
    // Whether the origin answered. Called once.
    using Heard = std::function<void(bool)>;

    // Whether others write to the origin as well. If not, what was read once stays true.
    enum class Region { kShared, kExclusive };

    // `counted` is called with each entry of which the others' counts were read, if there is one.
    Refresh(Table& table, Origin& origin, Region region, std::function<void(Entry&)> counted = {})
        : table_(table), origin_(origin), region_(region), counted_(std::move(counted)) {}
    Refresh(const Refresh&) = delete;
    Refresh& operator=(const Refresh&) = delete;

    // Wishes for the counts of the key of `request`, which is valid, at `now`.
    void ask(const Request& request, UnixTime now, Heard heard);

    // Sends what was wished for since the last time.
    void send();

    // Tells all that wait, now or later, that nothing was heard.
    void give_up();

    // Keys, those underway among them. May be called by any thread.
    std::uint64_t reads() const { return reads_.load(std::memory_order_relaxed); }

  private:
    // A key that is being read, in the window of its first asker.
    struct Flight {
        UnixTime now;
        Incarnation incarnation;
        std::vector<Heard> waiting;
    };
    // By the newer one of the cells that are read.
    using Flights = std::map<CellName, Flight>;

    void land(const std::vector<Flights::iterator>& flights,
              const std::vector<CellAnswer>& answers);
    void merge_into_entry(const CellName& cell, const Flight& flight, const CellAnswer answers[2]);

    Table& table_;
    Origin& origin_;
    const Region region_;
    const std::function<void(Entry&)> counted_;
    Flights flights_;
    std::vector<Flights::iterator> unsent_;
    std::atomic<std::uint64_t> reads_{0};  // written by the owner; relaxed: it stands for itself
    bool has_given_up_ = false;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REFRESH_H_
