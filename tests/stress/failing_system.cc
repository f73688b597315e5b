#include "stress/failing_system.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include <dlfcn.h>
#include <pthread.h>

namespace {

thread_local constinit int allocations_left = 0;
std::atomic<int> threads_left{0};

// Written by the test while the threads run, and read by them.
std::atomic<const char*> failing_thread{nullptr};
std::atomic<int> thread_allocations_left{0};

// Whether this is the allocation of another thread that is to fail.
bool is_chosen() {
    const char* const chosen = failing_thread.load();
    if (chosen == nullptr) return false;
    std::array<char, 16> name{};
    pthread_getname_np(pthread_self(), name.data(), name.size());
    return std::strcmp(name.data(), chosen) == 0 && thread_allocations_left.fetch_sub(1) == 1;
}

void* allocate(std::size_t size, std::size_t alignment) {
    if (allocations_left > 0 && --allocations_left == 0) throw std::bad_alloc();
    if (is_chosen()) throw std::bad_alloc();
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

void fail_allocation_of(const char* thread, int nth) {
    thread_allocations_left.store(nth);
    failing_thread.store(thread);
}

bool stop_failing_threads() {
    failing_thread.store(nullptr);
    return thread_allocations_left.load() <= 0;
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
