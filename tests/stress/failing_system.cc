#include "stress/failing_system.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

#include <dlfcn.h>
#include <pthread.h>

namespace {

thread_local constinit int allocations_left = 0;
std::atomic<int> threads_left{0};

void* allocate(std::size_t size, std::size_t alignment) {
    if (allocations_left > 0 && --allocations_left == 0) throw std::bad_alloc();
    // A multiple of the alignment, as aligned_alloc() wants it.
    const std::size_t whole = (size + alignment - 1) / alignment * alignment;
    void* const block = std::aligned_alloc(alignment, whole == 0 ? alignment : whole);
    if (block == nullptr) throw std::bad_alloc();
    return block;
}

}  // namespace

namespace sluice::stress {

void fail_allocation(int nth) {
    allocations_left = nth;
}

bool stop_failing() {
    const int left = allocations_left;
    allocations_left = 0;
    return left == 0;
}

void fail_thread(int nth) {
    threads_left.store(nth);
}

}  // namespace sluice::stress

// A sanitizer brings all of these, so all are replaced.
// NOLINTBEGIN(cppcoreguidelines-no-malloc)
void* operator new(std::size_t size) {
    return allocate(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size) {
    return allocate(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept {
    std::free(block);
}
void operator delete[](void* block) noexcept {
    std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
    std::free(block);
}
void operator delete[](void* block, std::size_t) noexcept {
    std::free(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
    std::free(block);
}
void operator delete[](void* block, std::align_val_t) noexcept {
    std::free(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
    std::free(block);
}
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept {
    std::free(block);
}
// NOLINTEND(cppcoreguidelines-no-malloc)

// That of a sanitizer, where there is one in this program.
extern "C" [[gnu::weak]] int __interceptor_pthread_create(  // NOLINT(bugprone-reserved-identifier)
    pthread_t* thread,
    const pthread_attr_t* attributes,
    void* (*run)(void*),
    void* argument);

// The C++ library calls this one, and this one the sanitizer's or the system's.
extern "C" int pthread_create(pthread_t* thread,
                              const pthread_attr_t* attributes,
                              void* (*run)(void*),
                              void* argument) {
    int left = threads_left.load();
    while (left > 0 && !threads_left.compare_exchange_weak(left, left - 1)) {
    }
    if (left == 1) return EAGAIN;
    using Create = decltype(&pthread_create);
    static const auto create = __interceptor_pthread_create != nullptr
                                   ? &__interceptor_pthread_create
                                   : reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    return create(thread, attributes, run, argument);
}
