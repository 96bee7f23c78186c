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
# A project that has weft as a subdirectory may ask for -Wpedantic and -Werror.
# weft is GNU C: statement expressions, and functions as void *.
list(APPEND warnings -Wno-pedantic)
if(NOT PROJECT_IS_TOP_LEVEL AND NOT WEFT_WERROR)
  list(APPEND warnings -Wno-error)
  set(CMAKE_COMPILE_WARNING_AS_ERROR OFF)
endif()
target_compile_options(weft_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C>:${warnings}>")
# Tests of what C++ programs do are in C++.
list(REMOVE_ITEM warnings -Wstrict-prototypes -Wmissing-prototypes)
target_compile_options(weft_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>")

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

# WEFT_FIBER_CFLAGS: for users' code that runs in fibers.  stack-clash for the
# reason above.  initial-exec only where it helps: on x86-64 code compiled with
# -fPIC then finds a thread-local variable that it names through the thread's
# register each time.  Neither makes an address right that the compiler keeps
# across a switch; weft/errno.h and weft/thread_local.h do.
set(WEFT_FIBER_CFLAGS "")
if(WEFT_HAVE_fstack_clash_protection)
  list(APPEND WEFT_FIBER_CFLAGS -fstack-clash-protection)
endif()
if(WEFT_ARCH STREQUAL "x86_64")
  list(APPEND WEFT_FIBER_CFLAGS -ftls-model=initial-exec)
endif()

# weft_fiber_flags(target): targets that link this one are compiled with these,
# except those that have the property WEFT_NO_FIBER_FLAGS.
function(weft_fiber_flags target)
  set(gnu ${WEFT_FIBER_CFLAGS})
  set(clang ${WEFT_FIBER_CFLAGS})
  if(NOT WEFT_ARCH MATCHES "^(x86_64|ppc64le)$")
    # clang warns about a flag that it does not have here.
    list(REMOVE_ITEM clang -fstack-clash-protection)
  endif()
  set(wanted "$<NOT:$<BOOL:$<TARGET_PROPERTY:WEFT_NO_FIBER_FLAGS>>>")
  foreach(language C CXX)
    target_compile_options(${target} INTERFACE
      "$<$<AND:${wanted},$<COMPILE_LANG_AND_ID:${language},GNU>>:${gnu}>"
      "$<$<AND:${wanted},$<COMPILE_LANG_AND_ID:${language},Clang>>:${clang}>")
  endforeach()
endfunction()

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
    "$<$<COMPILE_LANGUAGE:C,CXX>:${sanitize}>")
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
endif()
