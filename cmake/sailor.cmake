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
# Debug information has line numbers but no descriptions of variables. This halves the size and the time of the linker.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")  # for the sanitizers: the laws of the planner take a third of the time of -O0

find_program(SAILOR_CCACHE ccache)
if(SAILOR_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      "CCACHE_SLOPPINESS=pch_defines,time_macros" "${SAILOR_CCACHE}")
endif()

add_library(sailor_options INTERFACE)
target_include_directories(sailor_options INTERFACE "${CMAKE_SOURCE_DIR}")
# Whether a file sees fmt as a shared library must be the same everywhere, because the precompiled headers contain fmt.
target_link_libraries(sailor_options INTERFACE fmt::fmt)
# GCC frees its memory first when it holds a gigabyte: compiling takes 9 to 13 % less time and a quarter more memory (2026-11-30).
target_compile_options(sailor_options INTERFACE "SHELL:--param ggc-min-heapsize=1048576")
target_compile_options(sailor_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Werror
                       -Wno-missing-field-initializers)  # a field left out of a designated initialiser has its default
if(SAILOR_SANITIZER)
  # Sanitizers do not recover, so a finding ends the test.
  # With libstdc++'s assertions, access to a missing value or element is a finding too.
  target_compile_definitions(sailor_options INTERFACE _GLIBCXX_ASSERTIONS)
  target_compile_options(sailor_options INTERFACE "-fsanitize=${SAILOR_SANITIZER}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # GCC's optimiser takes the sanitizers' code in the standard library for uses of uninitialised values. The dev build has the warning.
  target_compile_options(sailor_options INTERFACE -Wno-maybe-uninitialized)
  target_link_options(sailor_options INTERFACE "-fsanitize=${SAILOR_SANITIZER}")
  if(SAILOR_SANITIZER STREQUAL thread)
    # GCC warns that it does not know the fences of Boost.Asio, which cpprestsdk's headers bring.
    target_compile_options(sailor_options INTERFACE -Wno-tsan)
  endif()
endif()

# The headers that most files include are compiled once, for all files: that saves 40 % of the CPU time of a library's file
# and 25 % of a test's, if each is compiled alone (2026-11-22). Each file still includes what it uses; scripts/tidy.sh compiles
# without precompiled headers. The headers are in angle brackets, because ccache shares results between checkouts only if the
# generated header contains no path of the checkout. Headers of this project are in no precompiled header: a change of one would
# recompile everything, and a change of its comments would break the build (tests/layering_test.cc says why).
option(SAILOR_PRECOMPILE "Compile the most frequent headers only once" ON)
set(SAILOR_FREQUENT_HEADERS <algorithm> <chrono> <cmath> <filesystem> <fstream> <functional> <map> <memory> <optional> <set>
    <string> <string_view> <utility> <vector> <fmt/format.h> <nlohmann/json.hpp> <tl/expected.hpp>)

# Tests are optimised little: compiling them takes 60 % of the time of -O2 (2026-11-30). GCC then takes values of the standard
# library for uninitialised ones.
add_library(sailor_little_optimized INTERFACE)
target_compile_options(sailor_little_optimized INTERFACE $<$<CONFIG:RelWithDebInfo>:-Og> -Wno-maybe-uninitialized)

# Compiles the headers once under this name, for the targets that sailor_precompile gives them to.
function(sailor_precompiled_headers name)
  cmake_parse_arguments(ARG "" "" "HEADERS;LINK" ${ARGN})
  if(SAILOR_PRECOMPILE)
    file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cc" CONTENT "")
    add_library(${name} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cc")
    target_link_libraries(${name} PRIVATE sailor_options ${ARG_LINK})
    target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  endif()
endfunction()

# sailor_precompile(TARGET NAME) uses those headers; sailor_precompile(TARGET <a.h> <b.h>) compiles others for this target.
function(sailor_precompile target)
  if(NOT SAILOR_PRECOMPILE)
    return()
  endif()
  if("${ARGN}" MATCHES "^<")
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${ARGN})
  endif()
endfunction()

# Eight sources are compiled as one: every compilation instantiates the templates that the headers of LibTorch, of the JSON library
# and of googletest need once more, with precompiled headers too (docs/testing.md has the measurements). Names in unnamed
# namespaces must differ within a target. SEPARATE targets are excepted. -DSAILOR_UNITY=OFF compiles each source alone, which is
# faster for work on a single file; scripts/tidy.sh does so.
option(SAILOR_UNITY "Compile several sources as one" ON)
function(sailor_unity target is_separate)
  if(SAILOR_UNITY AND NOT is_separate)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# sailor_library(core_model SOURCES a.cc b.cc LINK fmt::fmt): target sailor_core_model, alias sailor::core_model.
# PRECOMPILE <a.h>: headers to compile once for this library, instead of sailor_frequent_headers.
# SEPARATE: each source is compiled alone.
function(sailor_library name)
  cmake_parse_arguments(ARG "SEPARATE" "" "SOURCES;LINK;PRECOMPILE" ${ARGN})
  add_library(sailor_${name} STATIC ${ARG_SOURCES})
  add_library(sailor::${name} ALIAS sailor_${name})
  target_link_libraries(sailor_${name} PUBLIC sailor_options ${ARG_LINK})
  if(NOT ARG_PRECOMPILE)
    set(ARG_PRECOMPILE sailor_frequent_headers)
  endif()
  sailor_precompile(sailor_${name} ${ARG_PRECOMPILE})
  sailor_unity(sailor_${name} ${ARG_SEPARATE})
endfunction()

# sailor_executable(sailor-operator SOURCES main.cc LINK sailor::operator_reconcile)
function(sailor_executable name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE sailor_options ${ARG_LINK})
  sailor_know_version(${name})
endfunction()

# The sources of the target have the project's version as the string SAILOR_VERSION.
function(sailor_know_version target)
  target_compile_definitions(${target} PRIVATE "SAILOR_VERSION=\"${PROJECT_VERSION}\"")
endfunction()

# sailor_test(planner_test SOURCES a_test.cc LINK sailor::planner LABELS unit): one program, of which each TEST is a case of
# ctest. Tests run in the root of the sources, which SAILOR_SOURCE_DIR names; no path of a machine gets into a compilation.
# LABELS: unit (short, needs no cluster; the default), slow, gpu; also sanitized: runs under the sanitizers too, as all
#   tests labelled unit do. docs/testing.md describes the labels.
# LONG_TESTS Suite.*: the tests that match have the label long only, and run in `make test-all`, not in `make test`.
# OPTIMIZED: compiled as the programs are, for tests that compute much themselves.
# RUN_SERIAL: for tests that start processes or threads at fixed addresses. TIMEOUT: seconds for each test, 600 by default.
# SEPARATE: as for a library.
# PRECOMPILE: as for a library, or the NAME of sailor_precompiled_headers; by default sailor_test_headers.
function(sailor_test name)
  cmake_parse_arguments(ARG "OPTIMIZED;RUN_SERIAL;SEPARATE" "TIMEOUT;LONG_TESTS" "SOURCES;LINK;LABELS;PRECOMPILE" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  if(NOT ARG_PRECOMPILE AND ARG_OPTIMIZED)
    set(ARG_PRECOMPILE sailor_frequent_headers)
  elseif(NOT ARG_PRECOMPILE)
    set(ARG_PRECOMPILE sailor_test_headers)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  if(NOT ARG_OPTIMIZED)
    target_link_libraries(${name} PRIVATE sailor_little_optimized)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_link_libraries(${name} PRIVATE sailor_options ${ARG_LINK} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE "SAILOR_SOURCE_DIR=\".\"")
  sailor_precompile(${name} ${ARG_PRECOMPILE})
  sailor_unity(${name} ${ARG_SEPARATE})
  if("unit" IN_LIST ARG_LABELS OR "sanitized" IN_LIST ARG_LABELS)
    add_dependencies(sanitized_tests ${name})
  endif()
  include(GoogleTest)
  # A program that loads LibTorch and CUDA's libraries from a cold disk takes far longer than the usual 5 s to list its tests.
  set(discovery DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set(properties TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL ${ARG_RUN_SERIAL})
  if(ARG_LONG_TESTS)
    gtest_discover_tests(${name} ${discovery} TEST_FILTER "-${ARG_LONG_TESTS}" PROPERTIES LABELS "${ARG_LABELS}" ${properties})
    gtest_discover_tests(${name} ${discovery} TEST_FILTER "${ARG_LONG_TESTS}" PROPERTIES LABELS long ${properties})
  else()
    gtest_discover_tests(${name} ${discovery} PROPERTIES LABELS "${ARG_LABELS}" ${properties})
  endif()
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
