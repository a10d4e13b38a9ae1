#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace sailor::testing {

// Returns the seed for a test that draws its inputs at random. The seed is the same in every run, unless the variable
// SAILOR_TEST_SEED gives another one; `make test-all` sets it to a fresh number. Prints the command that repeats the
// test. Throws std::invalid_argument or std::out_of_range if SAILOR_TEST_SEED is not a 32-bit number.
inline std::uint32_t test_seed() {
  constexpr std::uint32_t kFixedSeed = 1000;
  const char* given = std::getenv("SAILOR_TEST_SEED");
  const std::uint32_t seed = given == nullptr ? kFixedSeed : static_cast<std::uint32_t>(std::stoul(given));
  const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::printf("to repeat: SAILOR_TEST_SEED=%u %s --gtest_filter=%s.%s\n", seed, program_invocation_name,
              test->test_suite_name(), test->name());
  return seed;
}

}  // namespace sailor::testing
