// An immutable object that is replaced while other threads read it.
#ifndef SLUICE_BASE_CURRENT_H_
#define SLUICE_BASE_CURRENT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/mutex.h"

namespace sluice {

// Holds the object in effect. Never null.
//
// Thread-safe. Threads that read it often use a Reader each.
template <class T>
class Current {
  public:
    class Reader;

    explicit Current(std::shared_ptr<const T> object) : object_(std::move(object)) {}

    // The object that was held is released after the lock: this may be the last reference to it.
    void replace(std::shared_ptr<const T> object) {
        const MutexLock lock(mutex_);
        object_.swap(object);
        version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }

    std::shared_ptr<const T> get() const {
        const MutexLock lock(mutex_);
        return object_;
    }

  private:
    mutable Mutex mutex_;  // held for the copy of one pointer
    std::shared_ptr<const T> object_ SLUICE_GUARDED_BY(mutex_);
    // Counts the objects. Written under mutex_ with a release after object_ has changed; a reader's
    // acquire of the new number makes it fetch object_ under the mutex, which orders everything
    // else.
    std::atomic<std::uint64_t> version_{0};
};

// One thread's view of a Current, which must outlive it. Keeps the object that it saw last in
// memory.
//
// Thread-compatible: each thread has its own.
template <class T>
class Current<T>::Reader {
  public:
    explicit Reader(const Current& current) : current_(&current) { fetch(); }

    // Makes each replacement visible that has returned. Costs one atomic load while there is none.
    void refresh() {
        if (current_->version_.load(std::memory_order_acquire) != version_) [[unlikely]]
            fetch();
    }
    // The object of the last refresh(); valid until the next one.
    const T& get() const { return *object_; }

  private:
    void fetch() {
        const std::shared_ptr<const T> before = std::move(object_);  // released after the lock
        const MutexLock lock(current_->mutex_);
        object_ = current_->object_;
        version_ = current_->version_.load(std::memory_order_relaxed);
    }

    const Current* current_;
    std::uint64_t version_ = 0;
    std::shared_ptr<const T> object_;
};

}  // namespace sluice

#endif  // SLUICE_BASE_CURRENT_H_
