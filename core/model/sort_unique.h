// sort_unique: sorts values and keeps one of each.
#pragma once

#include <algorithm>
#include <vector>

namespace sailor {

template <class Value>
void sort_unique(std::vector<Value>& values) {
  std::ranges::sort(values);
  const auto repeated = std::ranges::unique(values);
  values.erase(repeated.begin(), repeated.end());
}

}  // namespace sailor
