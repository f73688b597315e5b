# Finds protozero and defines Protozero::protozero. It is header-only.

find_path(Protozero_INCLUDE_DIR protozero/pbf_reader.hpp)
mark_as_advanced(Protozero_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Protozero REQUIRED_VARS Protozero_INCLUDE_DIR)

if(Protozero_FOUND AND NOT TARGET Protozero::protozero)
    add_library(Protozero::protozero INTERFACE IMPORTED)
    target_include_directories(Protozero::protozero INTERFACE "${Protozero_INCLUDE_DIR}")
endif()
