#include "counter/epoch.h"

#include <algorithm>

#include <pthread.h>

namespace sluice {

constinit std::atomic<std::uint64_t> Epoch::current_{1};
constinit std::atomic<Epoch::Reader*> Epoch::readers_{nullptr};
thread_local constinit Epoch::Reader* Epoch::self_ = nullptr;

// Gives the thread's reader back when the thread ends.
struct Epoch::Enrolment {
    Reader* reader = nullptr;
    ~Enrolment() {
        if (reader == nullptr) return;
        self_ = nullptr;
        // Release: pairs with the acquire in enrol(), so that the next thread's pins come after
        // this one's.
        reader->in_use.store(false, std::memory_order_release);
    }
};

Epoch::Reader* Epoch::enrol() {
    thread_local Enrolment enrolment;
    Reader* reader = readers_.load(std::memory_order_acquire);
    for (; reader != nullptr; reader = reader->next) {
        bool in_use = false;
        if (reader->in_use.compare_exchange_strong(in_use, true, std::memory_order_acquire)) break;
    }
    if (reader == nullptr) {
        reader = new Reader;
        reader->next = readers_.load(std::memory_order_relaxed);
        // Release: publishes `next` to the loads of readers_. Ends: repeats only after another
        // enrolment.
        while (!readers_.compare_exchange_weak(
            reader->next, reader, std::memory_order_seq_cst, std::memory_order_relaxed)) {
        }
    }
    self_ = enrolment.reader = reader;
    return reader;
}

void Epoch::forget_other_threads() {
    for (Reader* reader = readers_.load(std::memory_order_relaxed); reader != nullptr;
         reader = reader->next) {
        if (reader == self_) continue;
        reader->pinned.store(0, std::memory_order_relaxed);
        reader->in_use.store(false, std::memory_order_relaxed);
    }
}

const int Epoch::kAtFork = pthread_atfork(nullptr, nullptr, forget_other_threads);

Epoch::Pin Epoch::Pin::read(const Reader& reader) {
    const std::uint64_t since = reader.pinned.load(std::memory_order_seq_cst);
    return {
        .reader = &reader, .since = since, .newest = reader.newest.load(std::memory_order_seq_cst)};
}

Epoch::Pins::Pins() : rest_(readers_.load(std::memory_order_seq_cst)) {
    for (; rest_ != nullptr && count_ < kMost; rest_ = rest_->next) {
        const Pin pin = Pin::read(*rest_);
        if (pin.since != 0) pins_[count_++] = pin;
    }
}

std::optional<Epoch::Pin> Epoch::Pins::blocking(const Lifetime& lifetime) const {
    for (std::size_t i = 0; i < count_; ++i)
        if (pins_[i].may_see(lifetime)) return pins_[i];
    for (const Reader* reader = rest_; reader != nullptr; reader = reader->next) {
        const Pin pin = Pin::read(*reader);
        if (pin.may_see(lifetime)) return pin;
    }
    return std::nullopt;
}

void GraceQueue::keep_pinned(const Waiting& waiting, const Epoch::Pin& pin) {
    const auto is_same = [&](const PinnedEntries& pinned) {
        return pinned.pin.reader == pin.reader && pinned.pin.since == pin.since;
    };
    auto pinned = std::ranges::find_if(pinned_, is_same);
    if (pinned == pinned_.end())
        pinned = pinned_.insert(pinned_.end(), PinnedEntries{.pin = pin, .entries = {}});
    pinned->entries.push_back(waiting);
}

// Returns up to `most` entries of pins that have ended to the queue.
void GraceQueue::requeue_unpinned(std::size_t most) {
    for (PinnedEntries& pinned : pinned_) {
        if (!pinned.pin.is_over()) continue;
        for (; most > 0 && !pinned.entries.empty(); --most) {
            fresh_.push_front(pinned.entries.front());
            pinned.entries.pop_front();
        }
    }
    std::erase_if(pinned_, [](const PinnedEntries& pinned) { return pinned.entries.empty(); });
}

}  // namespace sluice
