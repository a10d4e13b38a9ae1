// LayerRange: the consecutive layers [first, last) of a model, counted from 0.
#pragma once

#include <compare>

namespace sailor {

struct LayerRange {
  int first = 0;
  int last = 0;  // the first layer after the range
  friend auto operator<=>(const LayerRange&, const LayerRange&) = default;

  [[nodiscard]] int size() const { return last - first; }
  [[nodiscard]] bool contains(int layer) const { return layer >= first && layer < last; }
};

}  // namespace sailor
