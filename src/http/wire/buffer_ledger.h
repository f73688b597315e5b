// Bytes that connections keep in buffers between turns, and which connection keeps the most.
#ifndef SLUICE_HTTP_WIRE_BUFFER_LEDGER_H_
#define SLUICE_HTTP_WIRE_BUFFER_LEDGER_H_

#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <list>

namespace sluice::http {

// Sums the buffer memory of all items and finds one of the largest holders. Items are grouped by
// the power of two of their size, so that each update takes constant time and allocates nothing.
//
// Owned by one thread.
template <class Item>
class BufferLedger {
  public:
    struct Entry {
        Item* item;
        std::size_t bytes;
    };
    using Place = typename std::list<Entry>::iterator;

    // Starts at 0 bytes.
    Place add(Item* item) {
        groups_[0].push_back({item, 0});
        return std::prev(groups_[0].end());
    }

    // Sets how many bytes the item holds now.
    void set(Place place, std::size_t bytes) {
        total_ += bytes;
        total_ -= place->bytes;
        auto& from = groups_[group_of(place->bytes)];
        auto& to = groups_[group_of(bytes)];
        if (&from != &to) to.splice(to.end(), from, place);
        place->bytes = bytes;
    }

    void remove(Place place) {
        total_ -= place->bytes;
        groups_[group_of(place->bytes)].erase(place);
    }

    std::size_t total() const { return total_; }

    // An item that holds more than half of what any other holds; of several such items, the one
    // that has been as large for the longest time. Null if no item holds anything.
    Item* largest() const {
        for (std::size_t i = groups_.size() - 1; i > 0; --i) {
            if (!groups_[i].empty()) return groups_[i].front().item;
        }
        return nullptr;
    }

  private:
    static std::size_t group_of(std::size_t bytes) {
        return static_cast<std::size_t>(std::bit_width(bytes));
    }

    // Group i > 0 has the sizes from 2^(i-1) to 2^i - 1.
    std::array<std::list<Entry>, std::numeric_limits<std::size_t>::digits + 1> groups_;
    std::size_t total_ = 0;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_BUFFER_LEDGER_H_
