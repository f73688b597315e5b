# The functions by which each folder declares its library and tests: sluice_library, sluice_test, sluice_check.

if(SLUICE_BUILD_TESTS)
    find_package(GTest REQUIRED)
endif()

set(SLUICE_TEST_LABELS "" CACHE STRING "Build and run only the tests with one of these labels. Empty: all tests")
# Builds the selected tests and what they need, and nothing else.
add_custom_target(sluice_tests)
# Tests are compiled far more often than they run: where the optimiser would cost more than it saves, -O0. g++ 12 also
# reports copies beyond temporary strings in optimised tests, where there are none.
set(SLUICE_TEST_OPTIONS "" CACHE STRING "Compiler options for the sources of tests, after all others")
# Checks of each access through a pointer take a quarter of the compiler's time. Tests and cold libraries go without:
# AddressSanitizer reports a null pointer too.
set(SLUICE_FEWER_CHECKS "")
if(SLUICE_SANITIZE MATCHES "undefined")
    set(SLUICE_FEWER_CHECKS -fno-sanitize=null,alignment,vptr)
endif()

# sluice_library(NAME window SOURCES sliding.cc HEADERS sliding.h DEPENDS base PACKAGES OpenSSL::SSL [COLD])
#
# Adds the library sluice_<NAME>. DEPENDS names other folders (base, not sluice_base), PACKAGES targets from
# outside the repository; users of the folder get both. A folder without SOURCES is header-only. Each header
# must compile on its own: the source file of the same name includes it first, and the target
# all_verify_interface_header_sets compiles those that have none. With sanitizers, optimising a COLD library
# takes longer than all that the tests run of it, and is left out. Precompiled headers of the standard library are
# shared then; the other presets do without, so a missing #include is found.
#
# Code includes its own and other folders as "window/sliding.h": from src/, or from the top folder of the
# repository that the caller stands in, such as tests/.
function(sluice_library)
    cmake_parse_arguments(PARSE_ARGV 0 arg "COLD" "NAME" "SOURCES;HEADERS;DEPENDS;PACKAGES")
    _sluice_check_arguments(sluice_library)
    _sluice_include_root(root)
    list(TRANSFORM arg_DEPENDS PREPEND sluice_)

    set(target sluice_${arg_NAME})
    if(arg_SOURCES)
        add_library(${target} STATIC ${arg_SOURCES})
        set(scope PUBLIC)
        if(NOT root STREQUAL "${PROJECT_SOURCE_DIR}/src")
            # Libraries of tests and benchmarks are built only if a target needs them.
            set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
        endif()
    else()
        add_library(${target} INTERFACE)
        set(scope INTERFACE)
    endif()
    set(lone_headers ${arg_HEADERS})
    list(TRANSFORM arg_SOURCES REPLACE "\\.cc$" ".h" OUTPUT_VARIABLE checked_headers)
    list(REMOVE_ITEM lone_headers ${checked_headers})
    set(paired_headers ${arg_HEADERS})
    list(REMOVE_ITEM paired_headers ${lone_headers})
    target_sources(
        ${target} ${scope}
        FILE_SET HEADERS BASE_DIRS "${root}" FILES ${paired_headers}
        FILE_SET lone_headers TYPE HEADERS BASE_DIRS "${root}" FILES ${lone_headers})
    set_target_properties(${target} PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY lone_headers)
    target_include_directories(${target} ${scope} "${root}" "${PROJECT_SOURCE_DIR}/include")
    target_link_libraries(${target} ${scope} sluice_flags ${arg_DEPENDS} ${arg_PACKAGES})
    if(arg_SOURCES)
        set(options "")
        if(arg_COLD AND SLUICE_SANITIZE)
            set(options -O0 ${SLUICE_FEWER_CHECKS})
        endif()
        target_compile_options(${target} PRIVATE ${options})
        # Not in the release build: at -O3 GCC 12 then warns of overflows in its own headers.
        if(SLUICE_SANITIZE)
            _sluice_precompile(${target} STATIC "${options}" "${SLUICE_STANDARD_HEADERS}")
        endif()
    endif()
    set_target_properties(
        ${target} PROPERTIES SLUICE_DEPENDS "${arg_DEPENDS}" SLUICE_PACKAGES "${arg_PACKAGES}")
endfunction()

# sluice_test(NAME window_test SOURCES sliding_test.cc sharing_test.cc LIBS sluice_window LABELS unit
#             [CONCURRENT sources] [SHARDED sources] [TIMEOUT seconds])
#
# Adds the GoogleTest program NAME, one per folder, since linking is most of the build time. Each source file
# with tests is registered with CTest by itself, as NAME.<file>, so that files run side by side; all must have
# different suites. Sources without tests are linked to all of them. CONCURRENT names further sources, whose tests
# start threads: they have the label `concurrent` as well. Tests with that label, or with `stress`, also run
# under ThreadSanitizer. SHARDED names further sources, whose tests take long: each is registered as four parts,
# NAME.<file>.1 to 4, among which GoogleTest distributes the tests.
function(sluice_test)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT" "SOURCES;CONCURRENT;SHARDED;LIBS;LABELS")
    _sluice_check_arguments(sluice_test)
    if(NOT arg_LABELS)
        message(FATAL_ERROR "sluice_test(${arg_NAME}): give it LABELS, such as unit or stress.")
    endif()
    if(NOT SLUICE_BUILD_TESTS)
        return()
    endif()
    _sluice_include_root(root)

    set(all_filters "")
    set(shared_sources "")
    set(selected_sources "")
    foreach(source IN LISTS arg_SOURCES arg_CONCURRENT arg_SHARDED)
        set(labels ${arg_LABELS})
        if(source IN_LIST arg_CONCURRENT)
            list(APPEND labels concurrent)
        endif()
        _sluice_suites_of(filter ${source})
        _sluice_is_selected(selected "${labels}")
        if(filter STREQUAL "")
            list(APPEND shared_sources ${source})
        elseif(selected)
            list(APPEND selected_sources ${source})
            string(APPEND all_filters ":${filter}")
            cmake_path(GET source STEM stem)
            set(shards 1)
            if(source IN_LIST arg_SHARDED)
                set(shards 4)
            endif()
            _sluice_add_test(${arg_NAME} ${stem} "${filter}" "${labels}" "${arg_TIMEOUT}" ${shards})
        endif()
    endforeach()

    if(selected_sources)
        # Suites that the pattern of _sluice_suites_of() does not find run here.
        _sluice_add_test(${arg_NAME} other "-${all_filters}" "${arg_LABELS}" "${arg_TIMEOUT}" 1)
        set(sources ${shared_sources} ${selected_sources})
    else()
        set(sources ${arg_SOURCES} ${arg_CONCURRENT} ${arg_SHARDED})
    endif()
    add_executable(${arg_NAME} ${sources})
    target_include_directories(${arg_NAME} PRIVATE "${root}" "${PROJECT_SOURCE_DIR}/include")
    target_link_libraries(${arg_NAME} PRIVATE sluice_flags ${arg_LIBS} GTest::gtest_main)
    set(options ${SLUICE_TEST_OPTIONS} ${SLUICE_FEWER_CHECKS})
    target_compile_options(${arg_NAME} PRIVATE ${options})
    _sluice_precompile(${arg_NAME} EXECUTABLE "${options}" "<gtest/gtest.h>;${SLUICE_STANDARD_HEADERS}")
    if(selected_sources)
        add_dependencies(sluice_tests ${arg_NAME})
    else()
        # It stays in compile_commands.json for clang-tidy and editors.
        set_target_properties(${arg_NAME} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
endfunction()

# The filter that selects the tests of a source file; empty if it has none.
function(_sluice_suites_of result source)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    file(STRINGS "${source}" lines REGEX "^(TYPED_)?(TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\\(")
    set(suites "")
    foreach(line IN LISTS lines)
        string(REGEX REPLACE "^[A-Z_]+\\(([A-Za-z0-9_]+).*" "\\1" suite "${line}")
        list(APPEND suites "${suite}.*" "*/${suite}.*" "${suite}/*.*")
    endforeach()
    list(REMOVE_DUPLICATES suites)
    list(JOIN suites ":" filter)
    set(${result} "${filter}" PARENT_SCOPE)
endfunction()

# sluice_check(NAME format COMMAND scripts/format --check LABELS lint)
#
# Registers a command with CTest that is no GoogleTest program. Generator expressions are allowed.
function(sluice_check)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "COMMAND;LABELS")
    _sluice_check_arguments(sluice_check)
    _sluice_is_selected(selected "${arg_LABELS}")
    if(selected)
        add_test(NAME ${arg_NAME} COMMAND ${arg_COMMAND})
        set_tests_properties(${arg_NAME} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 300)
        _sluice_start_early(${arg_NAME} "${arg_LABELS}")
    endif()
endfunction()

function(_sluice_add_test target part filter labels timeout shards)
    set(prefix "")
    set(launcher "")
    if(SLUICE_SANITIZE MATCHES "thread")
        # The same test runs under ASan too; one CTest run may hold both.
        set(prefix tsan.)
        _sluice_fixed_addresses(launcher)
    endif()
    if(NOT timeout)
        set(timeout 300)
    endif()

    foreach(shard RANGE 1 ${shards})
        set(name ${prefix}${target}.${part})
        set(environment "UBSAN_OPTIONS=print_stacktrace=1;TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1")
        if(shards GREATER 1)
            string(APPEND name .${shard})
            math(EXPR index "${shard} - 1")
            list(APPEND environment GTEST_TOTAL_SHARDS=${shards} GTEST_SHARD_INDEX=${index})
        endif()
        add_test(NAME ${name} COMMAND ${launcher} $<TARGET_FILE:${target}> "--gtest_filter=${filter}")
        set_tests_properties(
            ${name} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} ENVIRONMENT "${environment}")
        if("stress" IN_LIST labels OR "concurrent" IN_LIST labels)
            # Threads that should race need processors to race on.
            set_tests_properties(${name} PROPERTIES PROCESSORS 2)
        endif()
        _sluice_start_early(${name} "${labels}")
    endforeach()
endfunction()

# The long ones start first, so that none runs alone in the end.
function(_sluice_start_early test labels)
    if("integration" IN_LIST labels OR "simulation" IN_LIST labels)
        set_tests_properties(${test} PROPERTIES COST 100)
    endif()
endfunction()

# The runtime of ThreadSanitizer can't start where the kernel randomises more bits of an address than it knows of.
# Where the system lets us, its tests run with fixed addresses.
function(_sluice_fixed_addresses result)
    if(NOT DEFINED CACHE{SLUICE_FIXED_ADDRESSES})
        execute_process(COMMAND setarch -R true RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
        set(command "")
        if(NOT failed)
            set(command setarch -R)
        endif()
        set(SLUICE_FIXED_ADDRESSES "${command}" CACHE INTERNAL "Runs a command without address randomisation")
    endif()
    set(${result} "${SLUICE_FIXED_ADDRESSES}" PARENT_SCOPE)
endfunction()

function(_sluice_is_selected result labels)
    set(${result} OFF PARENT_SCOPE)
    if(NOT SLUICE_TEST_LABELS)
        set(${result} ON PARENT_SCOPE)
    endif()
    foreach(label IN LISTS labels)
        if(label IN_LIST SLUICE_TEST_LABELS)
            set(${result} ON PARENT_SCOPE)
        endif()
    endforeach()
endfunction()

# The headers that most sources include.
set(SLUICE_STANDARD_HEADERS
    <algorithm>
    <atomic>
    <chrono>
    <functional>
    <map>
    <memory>
    <optional>
    <span>
    <string>
    <string_view>
    <thread>
    <utility>
    <vector>)

# Precompiles `headers` once for all targets of a type (STATIC or EXECUTABLE) with the same options, since a header that
# was compiled with other flags can't be used.
function(_sluice_precompile target type options headers)
    string(MAKE_C_IDENTIFIER "sluice_headers_${type}${options}" holder)
    if(NOT TARGET ${holder})
        file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/${holder}.cc" CONTENT "int main() {}\n")
        if(type STREQUAL "EXECUTABLE")
            add_executable(${holder} EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/${holder}.cc")
        else()
            add_library(${holder} STATIC EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/${holder}.cc")
        endif()
        target_link_libraries(${holder} PRIVATE sluice_flags $<$<STREQUAL:${type},EXECUTABLE>:GTest::gtest_main>)
        target_compile_options(${holder} PRIVATE ${options})
        target_precompile_headers(${holder} PRIVATE ${headers})
    endif()
    target_precompile_headers(${target} REUSE_FROM ${holder})
endfunction()

function(_sluice_include_root result)
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE folder)
    string(REGEX REPLACE "/.*" "" top "${folder}")
    set(${result} "${PROJECT_SOURCE_DIR}/${top}" PARENT_SCOPE)
endfunction()

macro(_sluice_check_arguments function)
    if(NOT arg_NAME)
        message(FATAL_ERROR "${function}: NAME is missing.")
    endif()
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "${function}(${arg_NAME}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
    endif()
endmacro()
