// What a node writes to the origin of one entry, and what the answer changes in it.
#ifndef SLUICE_REGIONAL_ENTRY_SYNC_H_
#define SLUICE_REGIONAL_ENTRY_SYNC_H_

#include <sluice/time.h>

#include "counter/changed.h"
#include "counter/entry.h"
#include "regional/origin.h"

namespace sluice {

// The settled components of two cells of an entry, as read when it was made. Thread-compatible.
class EntrySync {
  public:
    // Of the entry's newest cell and the one before, known as of the entry's last request. Leaves
    // out the one before where needs_previous() was false.
    explicit EntrySync(const Entry& entry, bool has_previous = true);
    // Of the cell `current` and the one before, known as of `now`.
    EntrySync(const Entry& entry, Sequence current, UnixTime now);

    // For the origin.
    KeyComponents components(const Entry& entry) const;
    bool is_empty() const { return own_[0] == 0 && own_[1] == 0; }
    // All that the entry held of its own; see ChangedList::release().
    const Components& settled() const { return settled_; }

    // Merges what the origin holds into `entry`: the one that this was made of, or another that has
    // its key now.
    void merge(const KeyTotals& totals, Entry& entry) const {
        merge_peers(totals, entry);
        note_synced(0, entry);
        note_view(entry);
    }
    // The parts of it. `granted` is what the origin has added to the current component for
    // requests; they are entered before it is noted, or their cost would look like credit.
    void merge_peers(const KeyTotals& totals, Entry& entry) const;
    void note_synced(Count granted, Entry& entry) const;
    void note_view(Entry& entry) const;

    // Whether it was made of `entry`, and not of an earlier one of its key.
    bool is_of(const Entry& entry) const { return incarnation_ == entry.incarnation(); }
    Sequence current() const { return current_; }
    Incarnation incarnation() const { return incarnation_; }
    std::array<Count, 2> own() const { return own_; }
    bool has_previous() const { return has_previous_; }

    // Whether a sync has to write or read the cell before the newest one. Little happens there: it
    // is left out where this node has nothing to write, and its peers' counts were read five
    // seconds into the window, and again in the present quarter of it. Takes note_late() away.
    static bool needs_previous(Entry& entry);

  private:
    const Components settled_;
    const Sequence current_;
    const std::array<Count, 2> own_;
    const Incarnation incarnation_;
    const UnixTime as_of_;
    const bool has_previous_ = true;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_ENTRY_SYNC_H_
