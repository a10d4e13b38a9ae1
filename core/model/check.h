// SAILOR_CHECK: an assertion that is also active in release builds. A violation is a bug in Sailor and aborts.
#pragma once

#include <string_view>

#include <fmt/format.h>

namespace sailor {

[[noreturn]] void check_failed(std::string_view condition, std::string_view message, const char* file, int line);

}  // namespace sailor

// SAILOR_CHECK(stages > 0, "a plan of {} stages reached render()", stages)
#define SAILOR_CHECK(condition, ...)                                                      \
  do {                                                                                    \
    if (!(condition)) [[unlikely]] {                                                      \
      ::sailor::check_failed(#condition, ::fmt::format(__VA_ARGS__), __FILE__, __LINE__); \
    }                                                                                     \
  } while (false)
