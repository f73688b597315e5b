#include "counter/changed.h"

#include <algorithm>
#include <utility>

namespace sluice {

Components::Components(const Entry& entry) {
    const std::uint64_t let_go = entry.let_go();
    Sequence sequence = entry.high() - 2;
    for (Component& component : all_) {
        component = {.sequence = sequence, .count = entry.admitted(sequence).of(sequence)};
        ++sequence;
    }
    const std::uint64_t unfinished = entry.held() - let_go;
    for (Component& component : all_)
        component.count -= std::min<std::uint64_t>(component.count, unfinished);
}

Count Components::of(Sequence sequence) const {
    const auto* const found = std::ranges::find(all_, sequence, &Component::sequence);
    return found == all_.end() ? 0 : found->count;
}

bool Components::are_any() const {
    return std::ranges::any_of(all_, [](const Component& one) { return one.count != 0; });
}

bool Components::are_all_of(const Entry& entry) const {
    const Sequence oldest = entry.high() - 2;
    if (oldest != all_.front().sequence) return false;
    const std::uint64_t let_go = entry.let_go();
    if (entry.held() != let_go) return false;
    return std::ranges::all_of(all_, [&](const Component& written) {
        return entry.admitted(written.sequence).of(written.sequence) == written.count;
    });
}

bool ChangedList::mark(Entry& entry) {
    ChangeState state = entry.change_state_.load(std::memory_order_seq_cst);
    for (;;) {  // ends: each repetition follows a step of the consumer or of another marking thread
        switch (state) {
            case ChangeState::kUntracked:
            case ChangeState::kListed:
            case ChangeState::kTakenAgain:
                return true;
            case ChangeState::kRetired:
                return false;
            case ChangeState::kTaken:
                if (entry.change_state_.compare_exchange_weak(
                        state, ChangeState::kTakenAgain, std::memory_order_seq_cst)) {
                    return true;
                }
                break;
            case ChangeState::kIdle:
            case ChangeState::kLeaving:
                if (entry.change_state_.compare_exchange_weak(
                        state, ChangeState::kListed, std::memory_order_seq_cst)) {
                    push(entry);
                    return true;
                }
                break;
        }
    }
}

void ChangedList::push(Entry& entry) {
    Entry* top = top_.load(std::memory_order_relaxed);
    do {
        entry.next_changed_ = top;
    } while (!top_.compare_exchange_weak(
        top, &entry, std::memory_order_seq_cst, std::memory_order_relaxed));
    if (is_asleep_.load(std::memory_order_seq_cst) &&
        is_asleep_.exchange(false, std::memory_order_seq_cst)) {
        wake_();
    }
}

bool ChangedList::sleep() {
    is_asleep_.store(true, std::memory_order_seq_cst);
    if (top_.load(std::memory_order_seq_cst) == nullptr) return true;
    is_asleep_.store(false, std::memory_order_seq_cst);
    return false;
}

// Release and acquire through urged_: the consumer that sees the addition sees the entry's mark, so
// that a take() afterwards finds the entry.
void ChangedList::urge(Entry& entry) {
    if (!entry.begin_urgent()) return;
    const std::uint64_t number = urged_.fetch_add(1, std::memory_order_relaxed);
    urgent_[number % kMaxUrgent].store(entry.hash(), std::memory_order_release);
    if (wake_) wake_();
}

std::vector<std::uint64_t> ChangedList::take_urgent() {
    std::vector<std::uint64_t> hashes;
    const std::uint64_t urged = urged_.load(std::memory_order_relaxed);
    urgent_taken_ = std::max(urgent_taken_, urged - std::min(urged, kMaxUrgent));
    // Stops at a slot whose writer has not come to it yet; it wakes the consumer when it has.
    for (; urgent_taken_ < urged; ++urgent_taken_) {
        const std::uint64_t hash =
            urgent_[urgent_taken_ % kMaxUrgent].exchange(0, std::memory_order_acquire);
        if (hash == 0) break;
        hashes.push_back(hash);
    }
    return hashes;
}

void ChangedList::request_flush() {
    if (is_flush_requested_.exchange(true, std::memory_order_relaxed)) return;
    if (wake_) wake_();
}

ChangedList::Taken ChangedList::take() {
    Taken taken;
    Entry* entry = top_.exchange(nullptr, std::memory_order_acquire);
    while (entry != nullptr) {
        Entry* const next = entry->next_changed_;
        ChangeState listed = ChangeState::kListed;
        const bool alive = entry->change_state_.compare_exchange_strong(
            listed, ChangeState::kTaken, std::memory_order_seq_cst);
        (alive ? taken.changed : taken.retired).push_back(entry);
        entry = next;
    }
    return taken;
}

bool ChangedList::release(Entry& entry, const Components& written) {
    ChangeState state = ChangeState::kTaken;
    if (written.are_all_of(entry) && entry.change_state_.compare_exchange_strong(
                                         state, ChangeState::kIdle, std::memory_order_seq_cst)) {
        return true;
    }
    return give_back(entry);
}

bool ChangedList::give_back(Entry& entry) {
    ChangeState state = entry.change_state_.load(std::memory_order_seq_cst);
    while (state !=
           ChangeState::kRetired) {  // ends: kTaken can only become kTakenAgain or kRetired
        if (entry.change_state_.compare_exchange_weak(
                state, ChangeState::kListed, std::memory_order_seq_cst)) {
            push(entry);
            return true;
        }
    }
    return false;
}

bool ChangedList::move(Entry& entry, ChangeState from, ChangeState to) {
    ChangeState state = entry.change_state_.load(std::memory_order_seq_cst);
    return state == ChangeState::kUntracked ||
           (state == from &&
            entry.change_state_.compare_exchange_strong(state, to, std::memory_order_seq_cst));
}

bool ChangedList::leave(Entry& entry) {
    return move(entry, ChangeState::kIdle, ChangeState::kLeaving);
}

bool ChangedList::retire_leaving(Entry& entry) {
    return move(entry, ChangeState::kLeaving, ChangeState::kRetired);
}

void ChangedList::stay(Entry& entry) {
    move(entry, ChangeState::kLeaving, ChangeState::kIdle);
}

bool ChangedList::retire(Entry& entry) {
    if (entry.change_state_.load(std::memory_order_seq_cst) == ChangeState::kUntracked) return true;
    const ChangeState before =
        entry.change_state_.exchange(ChangeState::kRetired, std::memory_order_seq_cst);
    return before == ChangeState::kIdle || before == ChangeState::kLeaving;
}

}  // namespace sluice
