#include "core/model/speed_grade.h"

#include <algorithm>
#include <cmath>

#include "core/model/check.h"

namespace sailor {
namespace {

constexpr double kStep = 1.25;
constexpr double kRounding = 1e-9;

}  // namespace

double slowdown_of(int grade) {
  SAILOR_CHECK(grade >= 0 && grade <= kSlowestGrade, "a speed grade of {}", grade);
  return std::pow(kStep, grade);
}

int grade_of(double slowdown) {
  SAILOR_CHECK(slowdown >= 1, "a slowdown of {}", slowdown);
  const double exact = std::log(slowdown) / std::log(kStep);
  return static_cast<int>(std::ceil(std::min(exact, kSlowestGrade + 1.0) - kRounding));
}

}  // namespace sailor
