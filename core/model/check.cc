#include "core/model/check.h"

#include <cstdio>
#include <cstdlib>

namespace sailor {

void check_failed(std::string_view condition, std::string_view message, const char* file, int line) {
  fmt::print(stderr, "{}:{}: check failed: {}: {}\n", file, line, condition, message);
  std::abort();
}

}  // namespace sailor
