// Scale: converts a quantity to a coordinate and chooses the ticks of its axis.
#pragma once

#include <vector>

namespace sailor::report {

class Scale {
 public:
  // The values `from` and `to` have the coordinates `start` and `end`. `from` must be below `to`.
  Scale(double from, double to, double start, double end);

  [[nodiscard]] double at(double value) const;
  [[nodiscard]] double clamped(double value) const;  // the coordinate of the nearest value on the axis
  // About `about` round values, whose distance is 1, 2 or 5 times a power of ten.
  [[nodiscard]] std::vector<double> ticks(int about) const;

 private:
  double from_;
  double to_;
  double start_;
  double end_;
};

}  // namespace sailor::report
