#include "stress/lock_count.h"

#include <dlfcn.h>
#include <pthread.h>

namespace {

thread_local constinit std::int64_t count = 0;

}  // namespace

namespace sluice::stress {

std::int64_t locks_of_this_thread() {
    return count;
}

}  // namespace sluice::stress

// That of a sanitizer, where there is one in this program.
extern "C" [[gnu::weak]] int
__interceptor_pthread_mutex_lock(  // NOLINT(bugprone-reserved-identifier)
    pthread_mutex_t* mutex);

// The C++ library calls this one, and this one the sanitizer's or the system's.
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
    ++count;
    using Lock = decltype(&pthread_mutex_lock);
    static const auto lock = __interceptor_pthread_mutex_lock != nullptr
                                 ? &__interceptor_pthread_mutex_lock
                                 : reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    return lock(mutex);
}
