# Finds xxHash and defines xxHash::xxhash. Sluice includes it with XXH_INLINE_ALL, so the header is all it takes
# and nothing of it is left to link.

find_path(xxHash_INCLUDE_DIR xxhash.h)
mark_as_advanced(xxHash_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(xxHash REQUIRED_VARS xxHash_INCLUDE_DIR)

if(xxHash_FOUND AND NOT TARGET xxHash::xxhash)
    add_library(xxHash::xxhash INTERFACE IMPORTED)
    target_include_directories(xxHash::xxhash INTERFACE "${xxHash_INCLUDE_DIR}")
endif()
