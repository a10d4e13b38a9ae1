# The helper functions with which every module declares its targets, and the flags that all of them share.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_RUNTIME_OUTPUT_DIRECTORY)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# Line numbers without the variables' descriptions: half the size, and the linker's time with it.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")

find_program(SAILOR_CCACHE ccache)
if(SAILOR_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime" "${SAILOR_CCACHE}")
endif()

add_library(sailor_options INTERFACE)
target_include_directories(sailor_options INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_options(sailor_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Werror
                       -Wno-missing-field-initializers)  # a field left out of a designated initialiser has its default
if(SAILOR_SANITIZER)
  # Without recovery: a finding ends the test that made it.
  target_compile_options(sailor_options INTERFACE "-fsanitize=${SAILOR_SANITIZER}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(sailor_options INTERFACE "-fsanitize=${SAILOR_SANITIZER}")
endif()

# sailor_library(core_model SOURCES a.cc b.cc LINK fmt::fmt): target sailor_core_model, alias sailor::core_model.
function(sailor_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(sailor_${name} STATIC ${ARG_SOURCES})
  add_library(sailor::${name} ALIAS sailor_${name})
  target_link_libraries(sailor_${name} PUBLIC sailor_options ${ARG_LINK})
endfunction()

# sailor_executable(sailor-operator SOURCES main.cc LINK sailor::operator_reconcile)
function(sailor_executable name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE sailor_options ${ARG_LINK})
endfunction()

# sailor_test(planner_test SOURCES a_test.cc LINK sailor::planner LABELS unit): one executable, each TEST its own ctest case.
# Tests run in the root of the sources, which SAILOR_SOURCE_DIR names; no path of a machine gets into a compilation.
# Labels: unit (fast, no cluster), slow, gpu. Tests that start processes or threads at fixed addresses: RUN_SERIAL. TIMEOUT of each, in seconds: 600.
function(sailor_test name)
  cmake_parse_arguments(ARG "RUN_SERIAL" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_link_libraries(${name} PRIVATE sailor_options ${ARG_LINK} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE "SAILOR_SOURCE_DIR=\".\"")
  include(GoogleTest)
  # A program that loads LibTorch and CUDA's libraries from a cold disk takes far longer than the usual 5 s to list its tests.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
                       PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL ${ARG_RUN_SERIAL})
endfunction()

# sailor_benchmark(planner_bench SOURCES planner_bench.cc LINK sailor::planner): a Google Benchmark that `make bench` runs.
# A benchmark named Name/.../goal:0.3 states what its real time in seconds should not exceed.
function(sailor_benchmark name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
  target_link_libraries(${name} PRIVATE sailor_options ${ARG_LINK} benchmark::benchmark_main)
  target_compile_definitions(${name} PRIVATE "SAILOR_SOURCE_DIR=\".\"")
endfunction()
