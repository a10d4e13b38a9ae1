// counted(): a number and what it counts, for messages.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace sailor {

// "1 GPU", "2 GPUs". `thing` is a singular whose plural ends in s.
inline std::string counted(long count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

}  // namespace sailor
