# SPDX-License-Identifier: MIT
# flags.cmake - weft_flags: how everything in this tree is compiled.
include(CheckCCompilerFlag)
find_package(Threads REQUIRED)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON) # gnu11

add_library(weft_flags INTERFACE)
target_compile_definitions(weft_flags INTERFACE _GNU_SOURCE)

set(warnings -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wpointer-arith -Wundef)
if(WEFT_WERROR)
  list(APPEND warnings -Werror)
endif()
target_compile_options(weft_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C>:${warnings}>")

# Not every compiler has each of these for each architecture.
#   visibility:      what is not marked as API stays inside
#   stack-clash:     a large frame may not step over a guard page
#   no-plt:          calls out of the library without a detour
#   initial-exec:    the current thread is one load away
#   unwind-tables:   profilers and debuggers see through the library
#   cf-protection:   indirect jumps land on endbr64; no shadow stacks, which a
#                    switch of stacks would break, so none are announced
foreach(flag
    -fvisibility=hidden
    -fstack-clash-protection
    -fno-plt
    -ftls-model=initial-exec
    -fasynchronous-unwind-tables
    -fcf-protection=branch)
  string(MAKE_C_IDENTIFIER "WEFT_HAVE${flag}" have)
  check_c_compiler_flag(${flag} ${have})
  if(${have})
    target_compile_options(weft_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:${flag}>)
  endif()
endforeach()

# Headers of src/ look at it too, so everything must agree on it.
if(WEFT_DEBUG)
  target_compile_definitions(weft_flags INTERFACE WF_DEBUG=1)
endif()

if(WEFT_FIXED_POLICY)
  target_compile_definitions(weft_flags INTERFACE WF_POLICY_FIXED=1)
endif()

if(WEFT_SANITIZE)
  set(sanitize -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer)
  if(WEFT_SANITIZE STREQUAL "thread")
    # gcc warns that its ThreadSanitizer does not follow fences.
    check_c_compiler_flag(-Wno-tsan WEFT_HAVE_Wno_tsan)
    if(WEFT_HAVE_Wno_tsan)
      list(APPEND sanitize -Wno-tsan)
    endif()
  else()
    list(APPEND sanitize -fno-sanitize-recover=all)
  endif()
  target_compile_options(weft_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:C>:${sanitize}>")
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
endif()
