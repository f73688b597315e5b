# Writes a header with the commit that SOURCE_DIR is at to OUTPUT. The file changes only when the commit does, so that
# a build that runs this each time compiles nothing twice.

set(COMMIT "unknown")
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
    endif()
endif()
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
