#include "regional/replay.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sluice {

Replay::~Replay() {
    for (const Told& told : underway_)
        give_back(*told.entry);
    for (const auto* entries : {&waiting_, &aside_})
        for (Entry* entry : *entries)
            give_back(*entry);
}

std::vector<CellComponent> Replay::next(UnixTime now, UnixTime heard, Telling::Aim aim) {
    std::vector<CellComponent> batch;
    if (is_underway()) return batch;
    if (waiting_.empty()) take();
    while (!waiting_.empty() && batch.size() + kRingSize <= kBatchCells) {
        Entry& entry = *waiting_.back();
        waiting_.pop_back();
        const Told told{&entry, Telling(entry, now, heard, batch, aim)};
        round_.urgency = std::max(round_.urgency, told.telling.urgency());
        round_.shortest = std::min(round_.shortest, told.telling.duration());
        if (told.telling.cells() != 0) {
            underway_.push_back(told);
        } else if (!table_.changed().release(entry, told.telling.components())) {
            table_.dispose(entry);
        }
    }
    round_.cells += batch.size();
    return batch;
}

void Replay::take() {
    waiting_ = take_changed();
    for (Entry* entry : waiting_)
        note_counted(*entry);
    round_ = {};
}

std::vector<Entry*> Replay::take_changed() {
    ChangedList::Taken taken = table_.changed().take();
    for (Entry* entry : taken.retired)
        table_.dispose(*entry);
    return std::move(taken.changed);
}

void Replay::answered(std::span<const CellAnswer> answers) {
    for (const Told& told : std::exchange(underway_, {})) {
        const auto mine = answers.first(told.telling.cells());
        answers = answers.subspan(mine.size());
        const bool is_answered = told.telling.hear(mine, *told.entry);
        note_counted(*told.entry);
        if (!is_answered) {
            aside_.push_back(told.entry);
        } else if (told.telling.only_hears()) {
            give_back(*told.entry);
        } else if (!table_.changed().release(*told.entry, told.telling.components())) {
            table_.dispose(*told.entry);
        }
    }
    SLUICE_CHECK(answers.empty());
}

bool Replay::retry() {
    const std::vector<Entry*> entries = std::exchange(aside_, {});
    for (Entry* entry : entries)
        give_back(*entry);
    return !entries.empty();
}

void Replay::tidy() {
    retry();
    const std::vector<Entry*> changed = take_changed();
    waiting_.insert(waiting_.end(), changed.begin(), changed.end());
    std::erase_if(waiting_, [this](Entry* entry) {
        if (!entry->is_retired()) return false;
        table_.dispose(*entry);
        return true;
    });
    for (Entry* entry : waiting_)
        note_counted(*entry);
}

void Replay::give_back(Entry& entry) {
    if (!table_.changed().give_back(entry)) table_.dispose(entry);
}

}  // namespace sluice
