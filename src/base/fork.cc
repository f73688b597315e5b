#include "base/fork.h"

#include <pthread.h>

namespace sluice {
namespace internal {

constinit std::atomic<std::uint32_t> fork_generation{0};

}  // namespace internal

// All mutexes of that kind in this process. Never destroyed: a mutex may outlive static objects.
class ForkSafeMutexes {
  public:
    static ForkSafeMutexes& all() {
        static ForkSafeMutexes* const mutexes = new ForkSafeMutexes;
        return *mutexes;
    }

    void add(ForkSafeMutex& mutex) {
        const MutexLock lock(mutex_);
        mutex.next_ = first_;
        if (first_ != nullptr) first_->previous_ = &mutex;
        first_ = &mutex;
    }

    void remove(ForkSafeMutex& mutex) {
        const MutexLock lock(mutex_);
        if (mutex.next_ != nullptr) mutex.next_->previous_ = mutex.previous_;
        (mutex.previous_ != nullptr ? mutex.previous_->next_ : first_) = mutex.next_;
    }

  private:
    using Rank = ForkSafeMutex::Rank;
    static constexpr Rank kRanks[] = {Rank::kTable, Rank::kShard, Rank::kMemory};

    ForkSafeMutexes() {
        pthread_atfork([] { all().lock_all(); },
                       [] { all().unlock_all(); },
                       [] {
                           internal::fork_generation.fetch_add(1, std::memory_order_relaxed);
                           all().unlock_all();
                       });
    }

    void lock_all() SLUICE_THREAD_ANNOTATION(no_thread_safety_analysis) {
        mutex_.lock();
        for (const Rank rank : kRanks)
            for (ForkSafeMutex* mutex = first_; mutex != nullptr; mutex = mutex->next_)
                if (mutex->rank_ == rank) mutex->lock();
    }
    void unlock_all() SLUICE_THREAD_ANNOTATION(no_thread_safety_analysis) {
        for (ForkSafeMutex* mutex = first_; mutex != nullptr; mutex = mutex->next_)
            mutex->unlock();
        mutex_.unlock();
    }

    Mutex mutex_;
    ForkSafeMutex* first_ SLUICE_GUARDED_BY(mutex_) = nullptr;
};

ForkSafeMutex::ForkSafeMutex(Rank rank) : rank_(rank) {
    ForkSafeMutexes::all().add(*this);
}

ForkSafeMutex::~ForkSafeMutex() {
    ForkSafeMutexes::all().remove(*this);
}

}  // namespace sluice
