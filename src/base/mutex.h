// A mutex that carries clang's thread-safety annotations; std::mutex of libstdc++ has none.
#ifndef SLUICE_BASE_MUTEX_H_
#define SLUICE_BASE_MUTEX_H_

#include <mutex>

#if defined(__clang__)
#define SLUICE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define SLUICE_THREAD_ANNOTATION(x)
#endif

#define SLUICE_GUARDED_BY(mutex) SLUICE_THREAD_ANNOTATION(guarded_by(mutex))
#define SLUICE_REQUIRES(mutex) SLUICE_THREAD_ANNOTATION(requires_capability(mutex))

namespace sluice {

class SLUICE_THREAD_ANNOTATION(capability("mutex")) Mutex {
  public:
    void lock() SLUICE_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
    void unlock() SLUICE_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

    // Declares to the analysis what it can't see: that the caller of a lambda holds the lock.
    void assert_held() const SLUICE_THREAD_ANNOTATION(assert_capability(this)) {}

  private:
    std::mutex mutex_;
};

class SLUICE_THREAD_ANNOTATION(scoped_lockable) MutexLock {
  public:
    explicit MutexLock(Mutex& mutex) SLUICE_THREAD_ANNOTATION(acquire_capability(mutex))
        : mutex_(mutex) {
        mutex_.lock();
    }
    ~MutexLock() SLUICE_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;

  private:
    Mutex& mutex_;
};

}  // namespace sluice

#endif  // SLUICE_BASE_MUTEX_H_
