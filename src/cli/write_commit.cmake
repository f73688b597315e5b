# Writes a header with the commit that SOURCE_DIR is at, and its date, to OUTPUT. The file changes only when the commit
# does, so that a build that runs this each time compiles nothing twice.

set(COMMIT "unknown")
set(COMMIT_DATE "1970-01-01")
if(GIT)
    # A prefix means that the sources stand inside another project's repository, whose commit says nothing about them.
    execute_process(
        COMMAND "${GIT}" rev-parse --show-prefix --short=12 HEAD
        WORKING_DIRECTORY "${SOURCE_DIR}"
        OUTPUT_VARIABLE answer
        RESULT_VARIABLE failed
        ERROR_QUIET)
    if(NOT failed AND answer MATCHES "^\n([0-9a-f]+)\n$")
        set(COMMIT "${CMAKE_MATCH_1}")
        execute_process(
            COMMAND "${GIT}" log -1 --format=%cs
            WORKING_DIRECTORY "${SOURCE_DIR}"
            OUTPUT_VARIABLE COMMIT_DATE
            OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
endif()
if(COMMIT STREQUAL "unknown")
    # In a release archive, `git archive` has written the commit here.
    file(READ "${ARCHIVED}" archived)
    if(archived MATCHES "^([0-9a-f]+) ([0-9-]+)")
        set(COMMIT_DATE "${CMAKE_MATCH_2}")
        string(SUBSTRING "${CMAKE_MATCH_1}" 0 12 COMMIT)
    endif()
endif()
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
