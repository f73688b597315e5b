// Epoch-based reclamation: defers the reuse of removed entries until no reader can see them.
#ifndef SLUICE_COUNTER_EPOCH_H_
#define SLUICE_COUNTER_EPOCH_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>

#include "base/check.h"

namespace sluice {

class Entry;

// A process-wide clock of epochs, and the readers' announcements (interval-based reclamation). An
// entry lives from the epoch in which it is made to the one in which it is unlinked. A thread that
// reads a table holds an EpochPin meanwhile, which announces an interval: from the epoch in which
// the pin began to the newest one that the thread has seen. It may see an entry only if the two
// intervals meet.
//
//     const EpochPin pin;                     // reader
//     do entry = load(); while (!Epoch::confirm());   // valid until `pin` ends
//
//     const std::uint64_t born = Epoch::now();        // maker, before it links the entry
//     unlink(entry);                                  // remover
//     const Epoch::Lifetime lifetime{born, Epoch::now()};
//     ...
//     Epoch::advance();
//     if (!Epoch::Pins().blocking(lifetime).has_value()) reuse(entry);
//
// Nothing here waits, and pins don't stop the epoch. A thread that sleeps while pinned keeps the
// memory of the entries that existed when it fell asleep, and of no later ones. In a child
// process, only the thread that forked is left.
//
// Memory order. The announcement, the lookups and confirmations that follow it, the unlinking and
// the scan of the announcements are sequentially consistent. A confirmed load found the entry
// linked, so the unlinking comes after it, and the scan after that: it sees the announcement. The
// entry was made in the confirmed epoch or before, and unlinked in the one in which the pin began
// or later: so the intervals meet. The end of a pin is a release which the scan acquires: all that
// a reader did happens before the reuse.
class Epoch {
    struct Reader;

  public:
    // Of an entry.
    struct Lifetime {
        std::uint64_t born;
        std::uint64_t unlinked;
    };

    static std::uint64_t now() { return current_.load(std::memory_order_seq_cst); }

    // Begins the next epoch: pins that begin from here on don't see what was unlinked before.
    static void advance() { current_.fetch_add(1, std::memory_order_seq_cst); }

    // To be called after a pointer to an entry was loaded, and before it is followed. False if the
    // epoch has moved on: it is announced now, and the lookup begins anew, without following any
    // pointer that it has. The caller is pinned.
    [[gnu::always_inline]] static bool confirm() {
        const std::uint64_t epoch = now();
        // Relaxed: this thread's own.
        if (self_->newest.load(std::memory_order_relaxed) == epoch) [[likely]]
            return true;
        self_->newest.store(epoch, std::memory_order_seq_cst);
        return false;
    }

    // Makes sure that this thread may see what has been made so far. The caller is pinned, and
    // keeps it from being unlinked meanwhile.
    static void confirm_made() {
        while (!confirm()) {  // ends: repeats only after another thread's advance()
        }
    }

    // One thread's announcement, as it was read.
    struct Pin {
        const Reader* reader;
        std::uint64_t since;  // 0 if the thread was not pinned
        std::uint64_t newest;

        static Pin read(const Reader& reader);

        bool may_see(const Lifetime& lifetime) const {
            return since != 0 && since <= lifetime.unlinked && lifetime.born <= newest;
        }
        // Whether it has ended.
        bool is_over() const { return reader->pinned.load(std::memory_order_seq_cst) != since; }
    };

    // All announcements, read after this was made. Looks at each thread that ever read a table.
    class Pins {
      public:
        Pins();

        // One that may see an entry of this lifetime, which ended before this was made; none if
        // none may.
        std::optional<Pin> blocking(const Lifetime& lifetime) const;

      private:
        // If more threads are pinned at once, the remaining ones are read on each call.
        static constexpr std::size_t kMost = 64;

        std::array<Pin, kMost> pins_;
        std::size_t count_ = 0;
        const Reader* rest_;  // the first thread that was not copied
    };

  private:
    friend class EpochPin;

    // One thread's announcement. Reused by a later thread when its thread ends, and never freed.
    struct alignas(64) Reader {
        // 0, or the epoch in which the pin began. Written by its thread, read by Pins.
        std::atomic<std::uint64_t> pinned{0};
        // The newest epoch that it may see entries of; means nothing while it is not pinned.
        // Written by its thread (before `pinned`, and while it is), read by Pins (after that).
        std::atomic<std::uint64_t> newest{0};
        std::atomic<bool> in_use{true};
        Reader* next = nullptr;  // constant once the reader is in the list
    };
    struct Enrolment;

    static Reader* enrol();
    // Called in a new child process: the other threads don't exist there.
    static void forget_other_threads();
    static const int kAtFork;

    static std::atomic<std::uint64_t> current_;  // from 1
    static std::atomic<Reader*> readers_;        // a list that only grows
    // In the initial-exec model, reading it is one instruction in a shared library, too.
    static thread_local constinit Reader* self_ __attribute__((tls_model("initial-exec")));
};

// Announces this thread as a reader. Pins of one thread don't nest: the end of the inner one would
// leave the rest of the outer one unprotected, so a nested pin ends the process.
class EpochPin {
  public:
    EpochPin() : reader_(Epoch::self_) {
        if (reader_ == nullptr) [[unlikely]]
            reader_ = Epoch::enrol();
        // Relaxed: this thread's own.
        SLUICE_CHECK(reader_->pinned.load(std::memory_order_relaxed) == 0);
        const std::uint64_t epoch = Epoch::current_.load(std::memory_order_relaxed);
        reader_->newest.store(epoch, std::memory_order_relaxed);
        reader_->pinned.store(epoch, std::memory_order_seq_cst);
    }
    ~EpochPin() { reader_->pinned.store(0, std::memory_order_release); }
    EpochPin(const EpochPin&) = delete;
    EpochPin& operator=(const EpochPin&) = delete;

  private:
    Epoch::Reader* reader_;
};

// A queue of unlinked entries, each with its lifetime, until no reader can be using them; keeps
// invariant 9. An entry that a pinned thread may see is kept apart until that pin has ended,
// together with all other entries that this pin keeps. So an entry is examined once when it comes,
// and once for each pin that kept it.
//
// Thread-compatible: guarded by its shard's lock.
class GraceQueue {
  public:
    void add(Entry& entry, const Epoch::Lifetime& lifetime) {
        fresh_.push_back({.entry = &entry, .lifetime = lifetime});
    }

    // Entries that were added and not examined yet.
    std::size_t fresh() const { return fresh_.size(); }

    // Examines up to `most` entries, and calls done(entry) for each that no reader can be using.
    // Those of the present epoch are left for later: current readers, the caller among them, may
    // well see them. If there are no earlier ones, the next epoch begins.
    template <class Done>
    void poll(std::size_t most, Done done) {
        requeue_unpinned(most / 2);
        if (fresh_.empty()) return;
        const std::uint64_t epoch = Epoch::now();
        if (fresh_.front().lifetime.unlinked == epoch) return Epoch::advance();
        const Epoch::Pins pins;
        for (std::size_t i = 0; i < most && !fresh_.empty(); ++i) {
            const Waiting first = fresh_.front();
            if (first.lifetime.unlinked == epoch) return;
            ++examined_;
            const std::optional<Epoch::Pin> pin = pins.blocking(first.lifetime);
            if (pin) keep_pinned(first, *pin);
            fresh_.pop_front();
            if (!pin) done(*first.entry);
        }
    }

    // How many entries have been examined, ever.
    std::uint64_t examined() const { return examined_; }

    // Calls visit(entry) for each entry in the queue.
    template <class Visit>
    void for_each(Visit visit) const {
        for (const Waiting& waiting : fresh_)
            visit(*waiting.entry);
        for (const PinnedEntries& pinned : pinned_) {
            for (const Waiting& waiting : pinned.entries)
                visit(*waiting.entry);
        }
    }

  private:
    struct Waiting {
        Entry* entry;
        Epoch::Lifetime lifetime;
    };
    // The entries that one pin keeps.
    struct PinnedEntries {
        Epoch::Pin pin;
        std::deque<Waiting> entries;
    };

    void keep_pinned(const Waiting& waiting, const Epoch::Pin& pin);
    void requeue_unpinned(std::size_t most);

    std::deque<Waiting> fresh_;
    std::list<PinnedEntries> pinned_;  // one for each pin that keeps any
    std::uint64_t examined_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_COUNTER_EPOCH_H_
