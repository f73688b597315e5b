// Entries that wait until no reader can be using them any more.
#ifndef SLUICE_COUNTER_GRACE_QUEUE_H_
#define SLUICE_COUNTER_GRACE_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>

#include "counter/entry.h"
#include "counter/epoch.h"

namespace sluice {

// A queue of entries, each with its lifetime. An entry that a pinned thread may see is set aside
// until that pin has ended, together with all others that this pin keeps: they are not looked at
// again before. So an entry is looked at once when it comes, and once for each pin that kept it.
//
// Thread-compatible: guarded by its shard's lock.
class GraceQueue {
  public:
    void add(Entry& entry, const Epoch::Lifetime& lifetime) {
        fresh_.push_back({.entry = &entry, .lifetime = lifetime});
    }

    // Entries that were added and not looked at yet.
    std::size_t fresh() const { return fresh_.size(); }

    // Looks at up to `most` entries, and calls done(entry) for each that no reader can be using.
    // What was added in the present epoch is left for later: readers of this moment, the caller
    // itself among them, may well see it. If there is nothing else, the next epoch begins.
    template <class Done>
    void poll(std::size_t most, Done done) {
        release_aside(most / 2);
        if (fresh_.empty()) return;
        const std::uint64_t epoch = Epoch::now();
        if (fresh_.front().lifetime.unlinked == epoch) return Epoch::advance();
        const Epoch::Pins pins;
        for (std::size_t i = 0; i < most && !fresh_.empty(); ++i) {
            const Waiting first = fresh_.front();
            if (first.lifetime.unlinked == epoch) return;
            ++examined_;
            const std::optional<Epoch::Pin> pin = pins.blocking(first.lifetime);
            if (pin) set_aside(first, *pin);
            fresh_.pop_front();
            if (!pin) done(*first.entry);
        }
    }

    // How many entries have been looked at, ever.
    std::uint64_t examined() const { return examined_; }

    // Calls visit(entry) for each entry that waits.
    template <class Visit>
    void for_each(Visit visit) const {
        for (const Waiting& waiting : fresh_)
            visit(*waiting.entry);
        for (const Aside& aside : aside_) {
            for (const Waiting& waiting : aside.entries)
                visit(*waiting.entry);
        }
    }

  private:
    struct Waiting {
        Entry* entry;
        Epoch::Lifetime lifetime;
    };
    // What one pin keeps.
    struct Aside {
        Epoch::Pin pin;
        std::deque<Waiting> entries;
    };

    void set_aside(const Waiting& waiting, const Epoch::Pin& pin);
    void release_aside(std::size_t most);

    std::deque<Waiting> fresh_;
    std::list<Aside> aside_;  // one for each pin that keeps any
    std::uint64_t examined_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_COUNTER_GRACE_QUEUE_H_
