# SPDX-License-Identifier: MIT
# arch.cmake - WEFT_ARCH: which folder of src/arch this build takes.
string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" processor)
if(processor MATCHES "^(x86_64|amd64)$")
  set(WEFT_ARCH x86_64)
elseif(processor MATCHES "^(aarch64|arm64)$")
  set(WEFT_ARCH aarch64)
elseif(processor STREQUAL "riscv64")
  set(WEFT_ARCH riscv64)
elseif(processor MATCHES "^(ppc64le|powerpc64le)$")
  set(WEFT_ARCH ppc64le)
else()
  set(WEFT_ARCH "${processor}")
endif()
if(NOT IS_DIRECTORY "${PROJECT_SOURCE_DIR}/src/arch/${WEFT_ARCH}")
  file(GLOB have RELATIVE "${PROJECT_SOURCE_DIR}/src/arch"
    "${PROJECT_SOURCE_DIR}/src/arch/*/*")
  list(TRANSFORM have REPLACE "/.*" "")
  list(REMOVE_DUPLICATES have)
  list(JOIN have ", " have)
  message(FATAL_ERROR "weft has no context switch for the processor "
    "'${CMAKE_SYSTEM_PROCESSOR}'; src/arch has: ${have}")
endif()
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  message(FATAL_ERROR "weft runs on Linux; src/os has nothing for "
    "'${CMAKE_SYSTEM_NAME}'")
endif()
