// Scale: from a quantity to a coordinate, and where to put the marks of its axis.
#pragma once

#include <vector>

namespace sailor::report {

class Scale {
 public:
  // `from` and `to` are drawn at `start` and `end`; they differ.
  Scale(double from, double to, double start, double end);

  [[nodiscard]] double at(double value) const;
  [[nodiscard]] double clamped(double value) const;  // onto the axis
  // Round values (1, 2 or 5 times a power of ten apart), about so many.
  [[nodiscard]] std::vector<double> ticks(int about) const;

 private:
  double from_;
  double to_;
  double start_;
  double end_;
};

}  // namespace sailor::report
