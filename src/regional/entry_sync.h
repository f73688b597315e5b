// What a node writes to the origin of one entry, and what the answer changes in it.
#ifndef SLUICE_REGIONAL_ENTRY_SYNC_H_
#define SLUICE_REGIONAL_ENTRY_SYNC_H_

#include <sluice/time.h>

#include <optional>

#include "counter/changed.h"
#include "counter/entry.h"
#include "regional/origin.h"

namespace sluice {

// The settled components of two cells of an entry, as read when it was made. Thread-compatible.
class EntrySync {
  public:
    // Of the entry's newest cell and the one before, known as of the entry's last request.
    explicit EntrySync(const Entry& entry);
    // The same, and leaves out the one before if `settled` was returned by settled_previous() and
    // is still the one.
    EntrySync(const Entry& entry, std::optional<Sequence> settled);
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
    // Whether the previous cell holds no more than what this has of it, if it has anything: what an
    // unfinished batch held was left out.
    bool has_all_previous(const Entry& entry) const {
        const Sequence previous = current_ - 1;
        return !has_previous_ || !is_of(entry) || entry.admitted(previous).of(previous) == own_[1];
    }

    // The cell before the newest one, if a sync need not write or read it. Little happens there:
    // this node has nothing to write, and its peers' counts were read five seconds into the window,
    // and are read again every ten seconds or quarter of it. Takes note_late() away.
    static std::optional<Sequence> settled_previous(Entry& entry);

  private:
    const Components settled_;
    const Sequence current_;
    const std::array<Count, 2> own_;
    const Incarnation incarnation_;
    const UnixTime as_of_;
    const bool has_previous_;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_ENTRY_SYNC_H_
