// Support for fork(): mutexes that are usable in the child, and a way to recognise the child.
#ifndef SLUICE_BASE_FORK_H_
#define SLUICE_BASE_FORK_H_

#include <atomic>
#include <cstdint>

#include "base/mutex.h"

namespace sluice {

namespace internal {

// The number of forks between this process and the one that loaded the library. Written in a new
// child, while it has one thread; relaxed.
extern std::atomic<std::uint32_t> fork_generation;

}  // namespace internal

// Remembers the process that it was made in. Thread-safe.
class ForkMark {
  public:
    // Whether this is a descendant of that process. The threads of that process don't exist here,
    // so nothing may wait for them.
    bool is_in_child() const {
        return internal::fork_generation.load(std::memory_order_relaxed) != generation_;
    }

  private:
    std::uint32_t generation_ = internal::fork_generation.load(std::memory_order_relaxed);
};

// A mutex that no thread but the forking one holds at the moment of a fork: in the child it is
// free, and what it guards is whole. fork() takes all of these, in the order of their ranks. A
// thread that holds one may only take one of a higher rank, and must neither fork nor make or
// destroy one.
//
// Costs two pointers and a lock of its own when it is made and destroyed; as a mutex, nothing.
class ForkSafeMutex : public Mutex {
  public:
    enum class Rank : std::uint8_t { kTable, kShard, kMemory };

    explicit ForkSafeMutex(Rank rank);
    ~ForkSafeMutex();
    ForkSafeMutex(const ForkSafeMutex&) = delete;
    ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  private:
    friend class ForkSafeMutexes;

    const Rank rank_;
    ForkSafeMutex* previous_ = nullptr;
    ForkSafeMutex* next_ = nullptr;
};

}  // namespace sluice

#endif  // SLUICE_BASE_FORK_H_
