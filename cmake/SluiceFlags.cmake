# Compiler flags of all targets. Targets get them by linking sluice_flags, which is never exported: none of them
# reaches a program that uses the library.

option(SLUICE_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
option(SLUICE_ASSERTIONS "Keep assert() and the checks of the standard library, whatever the build type" OFF)
set(SLUICE_SANITIZE "" CACHE STRING "Sanitizers to build with, as for -fsanitize: address,undefined or thread")
set(SLUICE_FUZZ_ENGINE "" CACHE STRING "libfuzzer: build fuzz targets for libFuzzer. Empty: they run their corpus")
set_property(CACHE SLUICE_FUZZ_ENGINE PROPERTY STRINGS "" libfuzzer)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_library(sluice_flags INTERFACE)
target_compile_features(sluice_flags INTERFACE cxx_std_20)

target_compile_options(
    sluice_flags
    INTERFACE -Wall
              -Wextra
              -Wpedantic
              -Wcast-align
              -Wcast-qual
              -Wconversion
              -Wdouble-promotion
              -Wextra-semi
              -Wformat=2
              -Wimplicit-fallthrough
              -Wnon-virtual-dtor
              -Wold-style-cast
              -Woverloaded-virtual
              -Wshadow
              -Wsign-conversion
              -Wundef
              -Wunused
              $<$<BOOL:${SLUICE_WERROR}>:-Werror>)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 sees overlapping copies in the standard library's string concatenation where there are none.
    target_compile_options(sluice_flags INTERFACE -Wduplicated-cond -Wlogical-op -Wno-restrict)
    # GCC follows paths across inlined calls and, at -O2 or with sanitizers, reports dereferences that can't
    # happen, such as *std::get_if<0>(&variant) after a check of index(). So -Wnull-dereference is left to clang,
    # which reports what is written only.

    # GCC reads two neighbouring words, which were just written one by one, as one vector: the processor can't
    # forward that from its store buffer and waits until both have reached the cache. A batch loses a tenth.
    target_compile_options(sluice_flags INTERFACE -fno-tree-slp-vectorize)
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(sluice_flags INTERFACE -Wnull-dereference -Wthread-safety -Wthread-safety-beta)
    # Otherwise objects hold the time of the precompiled header, and ccache finds none once that is rebuilt.
    target_compile_options(sluice_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()

if(SLUICE_ASSERTIONS)
    target_compile_options(sluice_flags INTERFACE -UNDEBUG)
    target_compile_definitions(sluice_flags INTERFACE _GLIBCXX_ASSERTIONS)
endif()

if(SLUICE_SANITIZE)
    set(sanitizer_flags -fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_options(sluice_flags INTERFACE ${sanitizer_flags})
    target_link_options(sluice_flags INTERFACE ${sanitizer_flags})
endif()

if(SLUICE_FUZZ_ENGINE STREQUAL "libfuzzer")
    # The library is instrumented too; only the fuzz targets link the engine's main().
    target_compile_options(sluice_flags INTERFACE -fsanitize=fuzzer-no-link)
elseif(SLUICE_FUZZ_ENGINE)
    message(FATAL_ERROR "SLUICE_FUZZ_ENGINE is '${SLUICE_FUZZ_ENGINE}'; only libfuzzer or nothing is allowed.")
endif()

if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(SLUICE_CCACHE ccache)
    mark_as_advanced(SLUICE_CCACHE)
    if(SLUICE_CCACHE)
        # Without this sloppiness ccache keeps nothing that was compiled with a precompiled header.
        set(CMAKE_CXX_COMPILER_LAUNCHER
            "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${SLUICE_CCACHE}")
    endif()
endif()
