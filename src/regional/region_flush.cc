// Region: writing this node's counts to the origin, paced and retried, and batches that are read
// and written in one round trip.
#include <algorithm>
#include <memory>
#include <utility>

#include "counter/epoch.h"
#include "regional/region.h"
#include "window/sharing.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestPause{100};

// Between a flush that failed and the next one.
constexpr milliseconds kFirstRetry{50};
constexpr milliseconds kLastRetry{2'000};
// Unanswered keys that are retried in one flush: at first, and after flushes that were answered.
constexpr std::size_t kFirstRetries = 16;
constexpr std::size_t kMostRetries = 256;

}  // namespace

FlushQueue::Scope Region::scope(Time now) {
    if (is_stopping_ || catching_up_to_ || table_.changed().take_flush_request())
        return FlushQueue::Scope::kAll;
    return now < not_before_ ? FlushQueue::Scope::kUrgent : FlushQueue::Scope::kDue;
}

void Region::flush(Time now) {
    if (queue_.is_underway()) return;
    if (now >= retry_at_) queue_.retry(retries_);
    std::vector<KeyComponents> batch = queue_.next(now, scope(now));
    if (batch.empty()) return;
    origin_.sync(std::move(batch),
                 [this, now](const std::vector<KeyAnswer>& answers) { on_flushed(now, answers); });
}

// Unanswered keys are retried after a delay, a few at a time until these are answered: one server
// of a cluster may be unavailable. All other keys are flushed meanwhile.
void Region::on_flushed(Time began, std::span<const KeyAnswer> answers) {
    const Time now = config_.clock();
    const std::size_t missing = record(began, answers);
    flushed_.fetch_add(answers.size() - missing, std::memory_order_relaxed);
    queue_.answered(answers, [this](const Entry& entry, const KeyAnswer& answer) {
        return note_answer(entry.hash(), answer);
    });
    if (missing == 0) {
        failures_ = 0;
        retries_ = std::min(2 * retries_, kMostRetries);
        note_flush_time(now - began, answers.size());
    } else {
        const milliseconds delay = kFirstRetry * (1 << std::min(failures_++, 6));
        retries_ = kFirstRetries;
        retry_at_ = config_.clock() + jitter_.up_to(std::min(delay, kLastRetry));
    }
    not_before_ = now + pause_after(now - began, answers.size(), missing);
    config_.again();
}

// The origin's work for a flush is estimated from the quickest recent one, per key: a slower one
// includes time in which the origin, or this thread, waited for a processor. The round trip is not
// work either; a heartbeat takes hardly longer. At most a third of the time counts as round trip,
// since heartbeats are few.
void Region::note_flush_time(Time::duration took, std::size_t keys) {
    const auto work = took - std::min(quickest_heartbeat_.value, took / 3);
    quickest_flush_.note(work / static_cast<std::int64_t>(keys));
}

// The origin works on flushes for a fifth of the time. A slow one must not stop the flow.
Region::Time::duration Region::pause_after(Time::duration took,
                                           std::size_t keys,
                                           std::size_t missing) const {
    if (missing == keys) return took < kNotSent ? Time::duration::zero() : kLongestPause;
    if (catching_up_to_) return {};
    const auto busy = static_cast<std::int64_t>(keys) * quickest_flush_.value;
    return std::clamp<Time::duration>(kFlushParts * busy - took, {}, kLongestPause);
}

void Region::sync(std::span<const Request> requests, UnixTime now, Synced synced) {
    if (!accepts_calls()) return synced(false);
    struct Key {
        CellName cell;
        std::uint64_t hash;
        EntrySync sync;
    };
    const auto is_paused = [&](const Request& request) {
        return failing_keys_.is_paused(table_.key(request).hash(), config_.clock());
    };
    if (std::ranges::any_of(requests, is_paused)) return synced(false);
    auto keys = std::make_shared<std::vector<Key>>();
    std::vector<KeyComponents> components;
    {
        const EpochPin pin;
        for (const Request& request : requests) {
            Instant at;
            Entry& entry = table_.entry_for(table_.key(request), now, at);
            const EntrySync sync(entry, at.sequence, now);
            KeyComponents key = sync.components(entry);
            if (!entry.stays()) {  // as in begin_call(): only read
                key.own = {};
                entry.note_late();
            }
            keys->push_back({.cell = key.current, .hash = entry.hash(), .sync = sync});
            components.push_back(std::move(key));
        }
    }
    if (components.empty()) return synced(true);
    const Time began = config_.clock();
    ++syncs_underway_;
    origin_.sync(
        std::move(components),
        [this, began, keys, now, synced = std::move(synced)](std::vector<KeyAnswer> answers) {
            --syncs_underway_;
            record<KeyAnswer>(began, answers);
            for (std::size_t i = 0; i < answers.size(); ++i) {
                const auto& [cell, hash, sync] = (*keys)[i];
                note_answer(hash, answers[i]);
                if (!answers[i]) continue;
                const EpochPin pin;
                Entry& entry = entry_for(cell, now);
                sync.merge(*answers[i], entry);
                if (config_.counted) config_.counted(entry);
            }
            synced(std::ranges::all_of(answers, &KeyAnswer::has_value));
            config_.again();
        });
}

}  // namespace sluice
