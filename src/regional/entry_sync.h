// The exchange of one entry's counts with the origin: the components to write, and the merge of the
// answer.
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
    // Of the entry's newest cell and the one before, as of the entry's last request. The cell
    // before is left out if it is `settled`, which settled_previous() returned.
    explicit EntrySync(const Entry& entry, std::optional<Sequence> settled = std::nullopt);
    // Of the cell `current` and the one before, as of `now`.
    EntrySync(const Entry& entry, Sequence current, UnixTime now);

    // The components to write to the origin.
    KeyComponents components(const Entry& entry) const;
    // Whether there is nothing to write, and nothing that the origin may have lost.
    bool is_empty(const Entry& entry) const {
        return own_[0] == 0 && own_[1] == 0 && entry.peers(current_) == 0 &&
               entry.peers(current_ - 1) == 0;
    }
    // All components of the entry; see ChangedList::release().
    const Components& settled() const { return settled_; }

    // Merges the origin's totals into `entry`: the one that this was made of, or a later one of its
    // key.
    void merge(const KeyTotals& totals, Entry& entry) const {
        merge_peers(totals, entry);
        note_synced(0, entry);
        note_view(entry);
    }
    // The three steps of merge(). `granted` is the cost that the origin has added to the current
    // component; it must be entered in the entry first, or it would look like credit.
    void merge_peers(const KeyTotals& totals, Entry& entry) const;
    void note_synced(Count granted, Entry& entry) const;
    void note_view(Entry& entry) const;

    // Whether it was made of `entry`, rather than of an earlier one of its key.
    bool is_of(const Entry& entry) const { return incarnation_ == entry.incarnation(); }
    Incarnation incarnation() const { return incarnation_; }
    std::array<Count, 2> own() const { return own_; }
    bool has_previous() const { return has_previous_; }
    // Whether own()[1] is all of the previous cell. It lacks the cost of unfinished batches.
    bool has_all_previous(const Entry& entry) const {
        const Sequence previous = current_ - 1;
        return !has_previous_ || !is_of(entry) || entry.admitted(previous).of(previous) == own_[1];
    }

    // The cell before the newest one, if a sync need not write or read it: this node has nothing to
    // write there, and its peers' counts were read five seconds into the window or later, within
    // the last ten seconds or quarter of the window. If the key `waited` long for this flush, only
    // about one flush in kFlushParts reads it. Clears note_late().
    static std::optional<Sequence> settled_previous(Entry& entry, Duration waited = {});

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
