# Finds the C client of NATS and defines Nats::nats. Debian's package brings a CMake package under another name, which
# names files that it does not install.

find_path(Nats_INCLUDE_DIR nats/nats.h)
find_library(Nats_LIBRARY nats)
mark_as_advanced(Nats_INCLUDE_DIR Nats_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Nats REQUIRED_VARS Nats_LIBRARY Nats_INCLUDE_DIR)

if(Nats_FOUND AND NOT TARGET Nats::nats)
    add_library(Nats::nats UNKNOWN IMPORTED)
    set_target_properties(
        Nats::nats PROPERTIES IMPORTED_LOCATION "${Nats_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                  "${Nats_INCLUDE_DIR}")
endif()
