# SPDX-License-Identifier: MIT
# mimalloc.cmake - weft_link_mimalloc(): a program whose malloc is mimalloc.

# Never with a sanitizer, which brings its own malloc, nor in a cross build,
# where only the build machine's copy would be found.
function(weft_link_mimalloc program)
  set(library "")
  if(WEFT_SANITIZE OR CMAKE_CROSSCOMPILING)
    set(why "off (sanitizer or cross build)")
  elseif(NOT WEFT_MIMALLOC)
    set(why "off (WEFT_MIMALLOC=${WEFT_MIMALLOC})")
  else()
    find_package(mimalloc CONFIG QUIET)
    if(TARGET mimalloc)
      set(library mimalloc)
    elseif(TARGET mimalloc-static)
      set(library mimalloc-static)
    else()
      find_package(PkgConfig QUIET)
      if(PkgConfig_FOUND)
        pkg_check_modules(MIMALLOC QUIET IMPORTED_TARGET mimalloc)
      endif()
      if(TARGET PkgConfig::MIMALLOC)
        set(library PkgConfig::MIMALLOC)
      endif()
    endif()
    set(why "not found")
  endif()

  if(library)
    message(STATUS "mimalloc: linked into the program (${library})")
    target_compile_definitions(${program} PRIVATE WEFT_MALLOC="mimalloc")
    # The program may call nothing of mimalloc by name; without this a linker
    # that drops unneeded libraries would drop it, and malloc would be libc's.
    target_link_options(${program} PRIVATE LINKER:--no-as-needed)
    target_link_libraries(${program} PRIVATE ${library})
  elseif(WEFT_MIMALLOC STREQUAL "ON")
    message(FATAL_ERROR "mimalloc: WEFT_MIMALLOC=ON, but ${why}")
  else()
    message(STATUS "mimalloc: ${why}")
    target_compile_definitions(${program} PRIVATE WEFT_MALLOC="libc")
  endif()
endfunction()
