#include "stress/allocation_count.h"

#include <cerrno>
#include <cstddef>

#include "base/sanitizer.h"

namespace {

// Initial-exec, as is all that belongs to a program itself: reading it must not allocate.
thread_local constinit std::int64_t count = 0;

}  // namespace

namespace sluice::stress {

std::int64_t allocations_of_this_thread() {
    return count;
}

}  // namespace sluice::stress

// NOLINTBEGIN(bugprone-reserved-identifier, readability-inconsistent-declaration-parameter-name)
#if SLUICE_ASAN || SLUICE_TSAN

// A sanitizer has its own malloc, with hooks.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*,
                                                                           std::size_t),
                                                         void (*on_free)(const volatile void*));

namespace {

const int kInstalled = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t) { ++count; }, [](const volatile void*) {});

}  // namespace

#else

// The C library lets a program replace malloc, and keeps its own under these names.
extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t number, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
    ++count;
    return __libc_malloc(size);
}

void* calloc(std::size_t number, std::size_t size) {
    ++count;
    return __libc_calloc(number, size);
}

void* realloc(void* block, std::size_t size) {
    ++count;
    return __libc_realloc(block, size);
}

void* memalign(std::size_t alignment, std::size_t size) {
    ++count;
    return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
    ++count;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
    ++count;
    *block = __libc_memalign(alignment, size);
    return *block == nullptr ? ENOMEM : 0;
}

}  // extern "C"

#endif
// NOLINTEND(bugprone-reserved-identifier, readability-inconsistent-declaration-parameter-name)
