// Which sanitizer the program is built with, for tests: SLUICE_ASAN and SLUICE_TSAN are 1 or 0.
#ifndef SLUICE_BASE_SANITIZER_H_
#define SLUICE_BASE_SANITIZER_H_

// g++ defines macros, clang 14 has features.
#if defined(__has_feature)
#define SLUICE_ASAN __has_feature(address_sanitizer)
#define SLUICE_TSAN __has_feature(thread_sanitizer)
#else
#if defined(__SANITIZE_ADDRESS__)
#define SLUICE_ASAN 1
#else
#define SLUICE_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__)
#define SLUICE_TSAN 1
#else
#define SLUICE_TSAN 0
#endif
#endif

#endif  // SLUICE_BASE_SANITIZER_H_
