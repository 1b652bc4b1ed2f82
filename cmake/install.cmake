# What `cmake --install` puts in place besides the targets: headers, CMake package, pkg-config file.
include(CMakePackageConfigHelpers)

set(contract ${PROJECT_SOURCE_DIR}/runtime/contract)
install(FILES ${contract}/record_layout.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dwell)
# It includes these by their path in the sources.
install(FILES ${contract}/event_layout.h ${contract}/open_records.h ${contract}/time_axis_layout.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dwell/runtime/contract)

# For functions that filter events.
install(FILES ${PROJECT_SOURCE_DIR}/report/filter/dwell_events.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dwell)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/dwellConfig.cmake.in ${PROJECT_BINARY_DIR}/dwellConfig.cmake
    INSTALL_DESTINATION ${package_dir}
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dwellConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dwellConfig.cmake ${PROJECT_BINARY_DIR}/dwellConfigVersion.cmake
    DESTINATION ${package_dir})

# The prefix that counts is the one given to `cmake --install --prefix`.
install(CODE "
    set(PROJECT_VERSION \"${PROJECT_VERSION}\")
    set(PROJECT_DESCRIPTION \"${PROJECT_DESCRIPTION}\")
    set(CMAKE_INSTALL_BINDIR \"${CMAKE_INSTALL_BINDIR}\")
    set(CMAKE_INSTALL_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
    set(CMAKE_INSTALL_INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
    configure_file(\"${PROJECT_SOURCE_DIR}/cmake/dwell.pc.in\"
                   \"${PROJECT_BINARY_DIR}/dwell.pc\" @ONLY)
")
install(FILES ${PROJECT_BINARY_DIR}/dwell.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
