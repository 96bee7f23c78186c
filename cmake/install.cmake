# SPDX-License-Identifier: MIT
# install.cmake - what `cmake --install` puts where; the result may be moved.
include(CMakePackageConfigHelpers)

# weft_install_needs builds all that is installed, and none of the tests.  Each
# rule below adds what it installs: `make install' has no list of its own.
add_custom_target(weft_install_needs)

install(DIRECTORY include/weft DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h")
foreach(library weft_shared weft_static weft_tsan weft_sim)
  if(TARGET ${library})
    add_dependencies(weft_install_needs ${library})
    install(TARGETS ${library} EXPORT weftTargets
      LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
      ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()
endforeach()
if(TARGET weft_cli)
  add_dependencies(weft_install_needs weft_cli)
  install(TARGETS weft_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
# Where `weft sim' looks for it.
if(TARGET weft-scenarios)
  add_dependencies(weft_install_needs weft-scenarios)
  install(TARGETS weft-scenarios
    RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/weft")
endif()

list(JOIN WEFT_FIBER_CFLAGS " " WEFT_FIBER_CFLAGS)
# pkg-config: all paths relative to the file itself.
file(RELATIVE_PATH WEFT_PC_PREFIX
  "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" WEFT_PC_PREFIX "${WEFT_PC_PREFIX}")
file(RELATIVE_PATH WEFT_PC_LIBDIR
  "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_LIBDIR}")
file(RELATIVE_PATH WEFT_PC_INCLUDEDIR
  "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
foreach(name weft weft-tsan weft-sim)
  string(MAKE_C_IDENTIFIER "${name}" library)
  if(TARGET ${library} OR name STREQUAL "weft")
    set(pc "${name}.pc")
    configure_file("cmake/${pc}.in" "${pc}" @ONLY)
    install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${pc}"
      DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  endif()
endforeach()

# find_package(weft)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weft")
configure_package_config_file(cmake/weftConfig.cmake.in weftConfig.cmake
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(weftConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION "${package_dir}")
install(FILES "${PROJECT_BINARY_DIR}/weftConfig.cmake"
  "${PROJECT_BINARY_DIR}/weftConfigVersion.cmake" DESTINATION "${package_dir}")

# Manual pages, out of the headers.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  file(GLOB headers CONFIGURE_DEPENDS include/weft/*.h)
  set(man "${PROJECT_BINARY_DIR}/man/man3")
  add_custom_command(OUTPUT "${man}/weft_fiber.3"
    COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tools/man"
      --root "${PROJECT_SOURCE_DIR}" --out "${man}"
    DEPENDS ${headers} tools/man)
  add_custom_target(weft_man ALL DEPENDS "${man}/weft_fiber.3")
  add_dependencies(weft_install_needs weft_man)
  install(DIRECTORY "${man}" DESTINATION "${CMAKE_INSTALL_MANDIR}")
else()
  message(STATUS "no python3: there will be no manual pages")
endif()
