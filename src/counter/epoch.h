// Epochs: when is a removed entry out of every reader's sight?
#ifndef SLUICE_COUNTER_EPOCH_H_
#define SLUICE_COUNTER_EPOCH_H_

#include <atomic>
#include <cstdint>

namespace sluice {

// A process-wide clock of epochs. A thread that reads a table holds an EpochPin meanwhile, which
// announces the epoch that it began in. The epoch moves on only when every pinned thread has
// announced the present one. So what was unlinked in epoch n is out of sight in epoch n + 2.
//
//     const EpochPin pin;                     // reader
//     Entry* entry = table.find(key);         // valid until `pin` ends
//
//     unlink(entry);                          // remover
//     const std::uint64_t unlinked = Epoch::now();
//     ...
//     Epoch::try_advance();
//     if (Epoch::now() >= unlinked + Epoch::kGrace) reuse(entry);
//
// Nothing here waits: a thread that sleeps while pinned only delays the reuse of memory. In a child
// process, only the thread that forked is left.
//
// Memory order. The announcement, the lookups that follow it, the unlinking and the scan of the
// announcements are sequentially consistent: either the scan sees the reader, or the reader sees
// that the entry is gone. The end of a pin is a release which the scan acquires, and the epoch's
// own swap passes that on to the remover: all that a reader did happens before the reuse.
class Epoch {
  public:
    static constexpr std::uint64_t kGrace = 2;

    static std::uint64_t now() { return current_.load(std::memory_order_seq_cst); }

    // Moves the epoch on by one if no thread is pinned in an earlier one. Looks at each thread that
    // ever read a table; call it now and then, not for each entry.
    static void try_advance();

  private:
    friend class EpochPin;

    // One thread's announcement: 0, or the epoch in which it is pinned. Reused by a later thread
    // when its thread ends, and never freed.
    struct alignas(64) Reader {
        std::atomic<std::uint64_t> pinned{0};  // written by its thread, read by try_advance()
        std::atomic<bool> in_use{true};
        Reader* next = nullptr;  // constant once the reader is in the list
    };
    struct Enrolment;

    static Reader* enrol();
    // In a new child: the other threads don't exist there, and hold no place.
    static void forget_other_threads();
    static const int kAtFork;

    static std::atomic<std::uint64_t> current_;  // from 1
    static std::atomic<Reader*> readers_;        // a list that only grows
    // In the initial-exec model, reading it is one instruction in a shared library, too.
    static thread_local constinit Reader* self_ __attribute__((tls_model("initial-exec")));
};

// Holds this thread's place in the epochs. Pins of one thread don't nest.
class EpochPin {
  public:
    EpochPin() : reader_(Epoch::self_) {
        if (reader_ == nullptr) [[unlikely]]
            reader_ = Epoch::enrol();
        reader_->pinned.store(Epoch::current_.load(std::memory_order_relaxed),
                              std::memory_order_seq_cst);
    }
    ~EpochPin() { reader_->pinned.store(0, std::memory_order_release); }
    EpochPin(const EpochPin&) = delete;
    EpochPin& operator=(const EpochPin&) = delete;

  private:
    Epoch::Reader* reader_;
};

}  // namespace sluice

#endif  // SLUICE_COUNTER_EPOCH_H_
