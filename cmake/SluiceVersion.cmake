# The version of this source tree, from git. As a script it prints the version, or fills in a template:
#
#     cmake -P cmake/SluiceVersion.cmake
#     cmake -D TEMPLATE=build_version.h.in -D OUTPUT=build_version.h -P cmake/SluiceVersion.cmake
#
# The output changes only when the version does, so that a build that runs this each time compiles nothing twice.
#
# The commit of the tag v0.2.0 has the version 0.2.0; the fifth commit after it has 0.2.0+5.g0123456789ab. While no tag
# is reachable, the number is that of the newest release in CHANGELOG.md, with the commit's time in UTC, so that later
# commits have higher versions: 0.2.0+20261119024602.g0123456789ab. A release archive has the answer of git in
# archived_version.txt, which `git archive` fills in. SLUICE_FIXED_VERSION overrides all this, for builds that see
# neither.

set(_sluice_version_dir "${CMAKE_CURRENT_LIST_DIR}")

# Sets `result` in the caller to `seconds` since 1970 in UTC. CMake formats no time but the current one, for which it
# takes that of this variable.
function(_sluice_format_time result seconds format)
    set(before "$ENV{SOURCE_DATE_EPOCH}")
    set(ENV{SOURCE_DATE_EPOCH} "${seconds}")
    string(TIMESTAMP formatted "${format}" UTC)
    if(before STREQUAL "")
        unset(ENV{SOURCE_DATE_EPOCH})
    else()
        set(ENV{SOURCE_DATE_EPOCH} "${before}")
    endif()
    set(${result} "${formatted}" PARENT_SCOPE)
endfunction()

# Sets in the caller: SLUICE_VERSION, SLUICE_RELEASE (its number), SLUICE_COMMIT (twelve digits, or "unknown") and
# SLUICE_COMMIT_DATE (2026-11-18; 1970-01-01 if unknown).
function(sluice_find_version)
    cmake_path(GET _sluice_version_dir PARENT_PATH root)
    find_program(SLUICE_GIT git)
    mark_as_advanced(SLUICE_GIT)
    set(found "")
    set(error "git is not installed")
    if(SLUICE_GIT)
        # A prefix means that the sources stand inside another project's repository, which says nothing about them.
        execute_process(
            COMMAND "${SLUICE_GIT}" rev-parse --show-prefix
            WORKING_DIRECTORY "${root}"
            OUTPUT_VARIABLE prefix
            RESULT_VARIABLE failed
            ERROR_VARIABLE error)
        if(NOT failed AND prefix STREQUAL "\n")
            execute_process(
                COMMAND "${SLUICE_GIT}" log -1 --format=%H\ %ct
                WORKING_DIRECTORY "${root}"
                OUTPUT_VARIABLE found
                ERROR_QUIET)
            execute_process(
                COMMAND "${SLUICE_GIT}" describe --tags --long --match=v[0-9]*.[0-9]*.[0-9]*
                WORKING_DIRECTORY "${root}"
                OUTPUT_VARIABLE described
                ERROR_QUIET)
            string(STRIP "${found}" found)
            string(APPEND found " ${described}")
        endif()
    endif()
    if(found STREQUAL "" AND EXISTS "${root}/.git")
        string(REGEX REPLACE "\n.*" "" error "${error}")
        message(WARNING "git can't read the repository, so the version lacks the commit: ${error}. If it belongs to "
                        "another user, run: git config --global --add safe.directory '${root}'")
    endif()
    if(found STREQUAL "")
        file(READ "${_sluice_version_dir}/archived_version.txt" found)
    endif()

    set(commit "unknown")
    set(time 0)
    if(found MATCHES "^([0-9a-f]+) ([0-9]+)")
        set(time "${CMAKE_MATCH_2}")
        string(SUBSTRING "${CMAKE_MATCH_1}" 0 12 commit)
    endif()
    _sluice_format_time(date "${time}" "%Y-%m-%d")
    set(later "")
    # Without --long, as in an archive, the commit of the tag itself has the tag alone.
    if(found MATCHES " v([0-9]+\\.[0-9]+\\.[0-9]+)(-([0-9]+)-g[0-9a-f]+)?[ \n]*$")
        set(release "${CMAKE_MATCH_1}")
        if(CMAKE_MATCH_3)
            set(later "+${CMAKE_MATCH_3}.g${commit}")
        endif()
    else()
        file(STRINGS "${root}/CHANGELOG.md" headings REGEX "^## [0-9]")
        if(NOT headings MATCHES "^## ([0-9]+\\.[0-9]+\\.[0-9]+)")
            message(FATAL_ERROR "CHANGELOG.md has no release: a heading like '## 0.2.0 (2026-11-18)'")
        endif()
        set(release "${CMAKE_MATCH_1}")
        if(NOT commit STREQUAL "unknown")
            _sluice_format_time(stamp "${time}" "%Y%m%d%H%M%S")
            set(later "+${stamp}.g${commit}")
        endif()
    endif()
    set(version "${release}${later}")
    if(SLUICE_FIXED_VERSION)
        if(NOT SLUICE_FIXED_VERSION MATCHES "^([0-9]+\\.[0-9]+\\.[0-9]+)([-+.~a-z0-9]*)$")
            message(FATAL_ERROR "SLUICE_FIXED_VERSION is '${SLUICE_FIXED_VERSION}'; allowed is a version like 0.2.0 "
                                "or 0.2.0+5.g0123456789ab")
        endif()
        set(version "${SLUICE_FIXED_VERSION}")
        set(release "${CMAKE_MATCH_1}")
    endif()
    set(SLUICE_RELEASE "${release}" PARENT_SCOPE)
    set(SLUICE_VERSION "${version}" PARENT_SCOPE)
    set(SLUICE_COMMIT "${commit}" PARENT_SCOPE)
    set(SLUICE_COMMIT_DATE "${date}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    sluice_find_version()
    if(OUTPUT)
        configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
    else()
        execute_process(COMMAND "${CMAKE_COMMAND}" -E echo "${SLUICE_VERSION}")
    endif()
endif()
