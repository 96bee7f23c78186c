# SPDX-License-Identifier: MIT
# scenarios.cmake - weft-scenarios, which `weft sim' runs when it is given no
# program, and the examples that README has it run.

# weft_sim_program(<target> source...): simulated, and instrumented.
function(weft_sim_program target)
  add_executable(${target} ${ARGN})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}"
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/src/arch/${WEFT_ARCH}"
    "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${target} PRIVATE weft_sim weft_flags weft_instrument)
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
endfunction()

file(GLOB scenarios CONFIGURE_DEPENDS "tests/sim/*_scenarios.c"
  "tests/sim/*_kit.c")
weft_sim_program(weft-scenarios tests/sim/driver.c tests/sim/driver_options.c
  ${scenarios})
foreach(example lost_wakeup lost_wakeup_fixed)
  weft_sim_program(${example} examples/${example}.c)
endforeach()
