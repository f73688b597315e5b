#include "counter/entry.h"

#include <algorithm>

#include "base/check.h"

namespace sluice {

Entry::Entry(const LimitKey& key,
             UnixTime now,
             UnixTime forgotten_until,
             Sharing sharing,
             std::uint32_t incarnation)
    : shape_(key.shape()),
      change_state_(sharing == Sharing::kAlone ? ChangeState::kUntracked : ChangeState::kIdle),
      incarnation_{static_cast<std::uint8_t>(incarnation),
                   static_cast<std::uint8_t>(incarnation >> 8U),
                   static_cast<std::uint8_t>(incarnation >> 16U)},
      high_(std::max(instant_at(now, duration()).sequence,
                     instant_at(forgotten_until, duration()).sequence)),
      refreshed_at_ms_(kNever.time_since_epoch().count()),
      last_used_ms_(now.time_since_epoch().count()),
      hash_(key.hash()),
      incarnation_high_(static_cast<std::uint8_t>(incarnation >> 24U)),
      credit_(static_cast<std::uint32_t>(high_.load(std::memory_order_relaxed) - 2 * kRingSize)
              << kCreditBits) {
    if (key.is_short()) {
        texts_ = key.short_texts();
    } else if (has_long_texts_here()) {
        key.copy_long_texts(reinterpret_cast<char*>(&texts_));
    } else {
        char* const texts = new char[shape_.text_bytes()];
        key.copy_long_texts(texts);
        std::memcpy(&texts_, &texts, sizeof texts);
    }
    const Sequence high = high_.load(std::memory_order_relaxed);
    const bool past_forgotten = start_of(high, duration()) <= forgotten_until;
    const auto began = static_cast<std::uint8_t>(high & kLeftBits);
    came_from_.store(past_forgotten ? began | kPastForgotten : began, std::memory_order_relaxed);
    for (Sequence sequence = high - 2; sequence <= high + 1; ++sequence) {
        for (Ring* ring : {&admitted_, &peers_, &global_}) {
            (*ring)[place_of(sequence)].reset(sequence);
        }
    }
}

Entry::~Entry() {
    if (!has_long_texts_here()) delete[] texts_elsewhere();
}

Entry::Key Entry::key() const {
    const std::size_t workspace = shape_.workspace_bytes();
    const std::size_t name_space = shape_.namespace_bytes();
    if (shape_.is_short()) {
        const ShortTexts& texts = texts_;
        return {.workspace = texts.workspace.restore(workspace),
                .name_space = texts.name_space.restore(name_space),
                .identifier = texts.identifier.restore(shape_.identifier_bytes()),
                .duration = duration()};
    }
    const std::string_view all{long_texts(), shape_.text_bytes()};
    return {.workspace = std::string(all.substr(0, workspace)),
            .name_space = std::string(all.substr(workspace, name_space)),
            .identifier = std::string(all.substr(workspace + name_space)),
            .duration = duration()};
}

Instant Entry::clamped(UnixTime now, Sequence high) const {
    if (high == kClosed) return {.sequence = kClosed, .elapsed = {}};
    const Instant asked = instant_at(now, duration());
    // Acquire: pairs with the release in advance(). An old flag beside a new `high` only errs
    // towards the newest.
    const bool past_forgotten = (came_from_.load(std::memory_order_acquire) & kPastForgotten) != 0;
    const Sequence oldest = past_forgotten || asked.sequence < high - 2 ? high : high - 1;
    if (asked.sequence >= oldest) return asked;
    return {.sequence = oldest, .elapsed = Duration::zero()};
}

Instant Entry::locate(UnixTime now) {
    const Sequence asked = instant_at(now, duration()).sequence;
    if (high() == kClosed || !advance(asked)) return {.sequence = kClosed, .elapsed = {}};
    return clamped(now, high());
}

Instant Entry::relocate(Instant at, UnixTime now) {
    // A place that has moved on to sequence n was opened by an advance to n - 1 or further, which
    // may not have stored `high` yet. Finishing it here means that no thread waits for that one.
    Sequence reached = at.sequence;
    for (const Sequence needed : {at.sequence, at.sequence - 1}) {
        for (const Ring* ring : {&admitted_, &peers_, &global_}) {
            const std::int64_t laps = (*ring)[place_of(needed)].load().laps_ahead_of(needed);
            reached = std::max(reached, needed + laps * kRingSize - 1);
        }
    }
    if (!advance(reached)) return {.sequence = kClosed, .elapsed = {}};
    return clamped(now, high());
}

// The word keeps the low bits of its sequence only, which match again 2^11 windows later: by then
// it was cleared here, a few windows or one leap after its own. If the region's thread writes a
// newer word meanwhile, that is lost, and too much counts as unsynced.
void Entry::forget_synced(Sequence high, Sequence to) {
    const std::uint64_t word = synced_.load(std::memory_order_relaxed);
    const bool is_needed = is_word_of(word, to) || is_word_of(word, to - 1);
    if (!is_needed || to - high > kRingSize) clear_synced();
}

// Opens the cells that `to` brings, then stores `high`. Ends: `high` only grows, so it is soon `to`
// or more, or the entry is closed; false then.
bool Entry::advance(Sequence to) {
    Sequence high = this->high();
    while (high < to) {
        if (high == kClosed) return false;
        SLUICE_CHECK(to - high <= kMaxLeap);
        forget_synced(high, to);
        if (to - high >= kFewestLeapt) note_leap(high);
        bool opened = true;
        for (Sequence sequence = std::max(high + 2, to - 2); opened && sequence <= to + 1;
             ++sequence) {
            opened = open(sequence, high);
        }
        if (opened && high_.compare_exchange_strong(
                          high, to, std::memory_order_release, std::memory_order_acquire)) {
            if ((came_from_.load(std::memory_order_relaxed) & kPastForgotten) != 0)
                came_from_.fetch_and(kLeftBits, std::memory_order_release);
            return true;
        }
        high = this->high();
    }
    return true;
}

void Entry::note_leap(Sequence sequence) {
    const auto left = static_cast<std::uint8_t>(sequence & kLeftBits);
    std::uint8_t before = came_from_.load(std::memory_order_relaxed);
    // Ends: each repetition follows a step of another thread that moves the ring.
    while (!came_from_.compare_exchange_weak(
        before, (before & kPastForgotten) | left, std::memory_order_relaxed)) {
    }
}

// Only the low bits of the sequence that was left are known: one that looks the same waits for two
// windows without need.
std::optional<Sequence> Entry::starts_over_in(UnixTime now) const {
    if (now >= start_of(high() - 2, duration())) return std::nullopt;
    const Sequence asked = instant_at(now, duration()).sequence;
    const Sequence left = came_from_.load(std::memory_order_relaxed) & kLeftBits;
    const Sequence since = (asked - left) & kLeftBits;
    return since < 2 ? asked + 2 - since : asked;
}

bool Entry::must_start_over(UnixTime now) const {
    const auto from = starts_over_in(now);
    return from && *from == instant_at(now, duration()).sequence;
}

bool Entry::would_leap(UnixTime now) const {
    const Sequence newest = high();
    return newest != kClosed && now >= start_of(newest + kFewestLeapt, duration());
}

std::optional<UnixTime> Entry::close_if_dead(UnixTime now) {
    const Sequence high = this->high();
    const UnixTime dead_from = start_of(high + 3, duration());
    if (now < dead_from || !close(high)) return std::nullopt;
    return dead_from;
}

// Empties the place of `sequence` for it, unless it is open already. False if the ring has moved
// beyond `high` meanwhile. Checking that after the load makes sure that what is replaced was older
// (invariant 6).
bool Entry::open(Sequence sequence, Sequence high) {
    for (Ring* ring : {&admitted_, &peers_, &global_}) {
        CellCount& count = (*ring)[place_of(sequence)];
        for (;;) {  // ends: each repetition follows a change of the count by another thread
            const LapCount read = count.load();
            if (this->high() != high) return false;
            if (read.laps_ahead_of(sequence) >= 0) break;
            count.reopen(read, sequence);
        }
    }
    return true;
}

bool Entry::raise(Ring& ring, Sequence sequence, Count to) {
    if (to == 0) return ring[place_of(sequence)].load().belongs_to(sequence);
    // Release is not needed: the counts are atomic themselves, and a decision that misses the flag
    // decides as if the merge had come a moment later.
    if (!has_foreign_.load(std::memory_order_relaxed)) {
        has_foreign_.store(true, std::memory_order_relaxed);
    }
    return ring[place_of(sequence)].raise(sequence, std::min(to, kMaxCount));
}

bool Entry::merge_imported(Sequence sequence, ImportedCounts imported) {
    // A cell further away may look like one that is held: the ring counts its laps modulo.
    const Sequence high = this->high();
    if (sequence < high - 2 || sequence > high + 1) return false;
    // The row may hold what the origin has granted to this node, which does not know of it yet.
    const Count own = most_at_origin(sequence);
    if (imported.own > own) raise_peers(sequence, imported.own - own);
    return raise_global(sequence, imported.foreign);
}

// Each of these two writes one word and then looks at the other's, sequentially consistent: if they
// race, at least one of them sees that the entry is strict, and leaves it with kStrict.
void Entry::set_refreshed(UnixTime at) {
    const auto store = [this](UnixTime time) {
        refreshed_at_ms_.store(time.time_since_epoch().count(), std::memory_order_seq_cst);
    };
    if (suspended_.load(std::memory_order_relaxed) != 0) return;
    std::int64_t deadline = strict_until_ms_.load(std::memory_order_relaxed);
    if (is_beyond(at, UnixTime{Duration{deadline}}))
        strict_until_ms_.compare_exchange_strong(
            deadline, kNever.time_since_epoch().count(), std::memory_order_seq_cst);
    if (is_strict(at)) return store(kStrict);
    store(at);
    const UnixTime until{Duration{strict_until_ms_.load(std::memory_order_seq_cst)}};
    if (is_near(at, until)) store(kStrict);
}

// Whether no denial by a clock that is right can have set that deadline. Requests that have waited
// come with earlier times than others.
bool Entry::is_beyond(UnixTime now, UnixTime strict_until) const {
    constexpr Duration kLongestWait{10'000};
    return strict_until > now + duration() + kLongestWait;
}

bool Entry::is_near(UnixTime now, UnixTime strict_until) const {
    return now < strict_until && !is_beyond(now, strict_until);
}

void Entry::suspend_view() {
    suspended_.fetch_add(1, std::memory_order_relaxed);
    refreshed_at_ms_.store(kNever.time_since_epoch().count(), std::memory_order_seq_cst);
}

void Entry::set_credit(Sequence sequence, Count most) {
    if (credit(sequence) == kMaxCount) return;
    const auto count = static_cast<std::uint32_t>(std::min<Count>(most, kMaxCredit));
    credit_.store(static_cast<std::uint32_t>(sequence) << kCreditBits | count,
                  std::memory_order_seq_cst);
}

Count Entry::credit(Sequence sequence) const {
    const std::uint32_t word = credit_.load(std::memory_order_seq_cst);
    const std::uint32_t apart = word - (static_cast<std::uint32_t>(sequence) << kCreditBits);
    const std::int32_t newer = static_cast<std::int32_t>(apart) >> kCreditBits;
    if (newer < 0 || newer > kRingSize) return 0;
    const std::uint32_t count = word & kMaxCredit;
    return newer == 0 && count != kMaxCredit ? count : kMaxCount;
}

bool Entry::make_strict(UnixTime now, UnixTime until) {
    const std::int64_t until_ms = until.time_since_epoch().count();
    std::int64_t deadline = strict_until_ms_.load(std::memory_order_relaxed);
    // Ends: each repetition follows a later deadline by another thread.
    while (deadline < until_ms || is_beyond(now, UnixTime{Duration{deadline}})) {
        if (strict_until_ms_.compare_exchange_weak(deadline, until_ms, std::memory_order_seq_cst)) {
            // Not over the kNever of suspend_view(). Ends: each repetition follows another view.
            std::int64_t seen = refreshed_at_ms_.load(std::memory_order_seq_cst);
            while (seen != kNever.time_since_epoch().count() &&
                   !refreshed_at_ms_.compare_exchange_weak(
                       seen, kStrict.time_since_epoch().count(), std::memory_order_seq_cst)) {
            }
            return !is_near(now, UnixTime{Duration{deadline}});
        }
    }
    return false;
}

}  // namespace sluice
