# The two libraries that ship, and what find_package(Sluice) and pkg-config need to find them.

include(CMakePackageConfigHelpers)
find_package(Threads REQUIRED)

# sluice_package(ROOT service)
#
# Adds sluice_static (libsluice.a) and sluice_shared (libsluice.so) from the objects of the folder ROOT and of
# all folders that it depends on. Both carry the public headers of include/sluice.
function(sluice_package)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "ROOT" "")
    _sluice_closure(folders sluice_${arg_ROOT})
    set(objects "")
    set(packages "")
    foreach(folder IN LISTS folders)
        get_target_property(type ${folder} TYPE)
        if(NOT type STREQUAL "INTERFACE_LIBRARY")
            list(APPEND objects $<TARGET_OBJECTS:${folder}>)
        endif()
        get_target_property(folder_packages ${folder} SLUICE_PACKAGES)
        list(APPEND packages ${folder_packages})
    endforeach()
    list(REMOVE_DUPLICATES packages)

    _sluice_public_headers()
    _sluice_shipped(sluice_static STATIC "${objects}" "${packages}")
    _sluice_shipped(sluice_shared SHARED "${objects}" "${packages}")
    # A release that changes the binary interface raises SOVERSION, and with it the name of the package libsluice0.
    set_target_properties(sluice_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0)
    if(NOT SLUICE_SANITIZE)
        target_link_options(sluice_shared PRIVATE -Wl,--no-undefined)
    endif()
    add_library(Sluice::sluice ALIAS sluice_static)

    if(SLUICE_INSTALL)
        _sluice_install()
    endif()
endfunction()

# All folders that `target` stands on, itself included.
function(_sluice_closure result target)
    set(found "")
    set(open ${target})
    while(open)
        list(POP_FRONT open next)
        if(NOT next IN_LIST found)
            list(APPEND found ${next})
            get_target_property(depends ${next} SLUICE_DEPENDS)
            list(APPEND open ${depends})
        endif()
    endwhile()
    set(${result} ${found} PARENT_SCOPE)
endfunction()

# sluice_headers exists to check that each public header compiles on its own.
function(_sluice_public_headers)
    set(root "${PROJECT_SOURCE_DIR}/include")
    file(GLOB headers CONFIGURE_DEPENDS "${root}/sluice/*.h")
    add_library(sluice_headers INTERFACE)
    target_sources(sluice_headers INTERFACE FILE_SET HEADERS BASE_DIRS "${root}" FILES ${headers})
    target_link_libraries(sluice_headers INTERFACE sluice_flags)
endfunction()

function(_sluice_shipped target type objects packages)
    add_library(${target} ${type} ${objects})
    add_library(Sluice::${target} ALIAS ${target})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME sluice LINKER_LANGUAGE CXX)
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_include_directories(
        ${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                         $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:sluice_flags> Threads::Threads)
    foreach(package IN LISTS packages)
        target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${package}>)
    endforeach()
endfunction()

function(_sluice_install)
    set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Sluice")
    set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

    install(TARGETS sluice_shared sluice_static EXPORT SluiceTargets)
    install(EXPORT SluiceTargets NAMESPACE Sluice:: DESTINATION "${package_dir}")
    install(
        DIRECTORY "${PROJECT_SOURCE_DIR}/include/sluice"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING
        PATTERN "*.h")
    install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/sluice")

    configure_package_config_file(
        "${PROJECT_SOURCE_DIR}/cmake/SluiceConfig.cmake.in" "${PROJECT_BINARY_DIR}/SluiceConfig.cmake"
        INSTALL_DESTINATION "${package_dir}"
        NO_SET_AND_CHECK_MACRO)
    write_basic_package_version_file(
        "${PROJECT_BINARY_DIR}/SluiceConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
    install(FILES "${PROJECT_BINARY_DIR}/SluiceConfig.cmake" "${PROJECT_BINARY_DIR}/SluiceConfigVersion.cmake"
                  "${PROJECT_SOURCE_DIR}/cmake/FindHiredis.cmake" "${PROJECT_SOURCE_DIR}/cmake/FindMariaDB.cmake"
                  "${PROJECT_SOURCE_DIR}/cmake/FindNats.cmake"
            DESTINATION "${package_dir}")

    # The directories in sluice.pc are relative to the file, so that an installed tree can be moved.
    set(pkgconfig_full_dir "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig")
    cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${pkgconfig_full_dir}" OUTPUT_VARIABLE PC_PREFIX)
    cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}"
               OUTPUT_VARIABLE PC_LIBDIR)
    cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}"
               OUTPUT_VARIABLE PC_INCLUDEDIR)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/sluice.pc.in" "${PROJECT_BINARY_DIR}/sluice.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/sluice.pc" DESTINATION "${pkgconfig_dir}")
endfunction()
