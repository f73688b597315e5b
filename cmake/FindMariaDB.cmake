# Finds MariaDB Connector/C, the client library for MariaDB and MySQL, and defines MariaDB::client. Debian's package
# brings no CMake package of its own.

find_path(MariaDB_INCLUDE_DIR mariadb/mysql.h)
find_library(MariaDB_LIBRARY mariadb)
mark_as_advanced(MariaDB_INCLUDE_DIR MariaDB_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MariaDB REQUIRED_VARS MariaDB_LIBRARY MariaDB_INCLUDE_DIR)

if(MariaDB_FOUND AND NOT TARGET MariaDB::client)
    add_library(MariaDB::client UNKNOWN IMPORTED)
    set_target_properties(
        MariaDB::client PROPERTIES IMPORTED_LOCATION "${MariaDB_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                          "${MariaDB_INCLUDE_DIR}")
endif()
