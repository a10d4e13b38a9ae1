// GoodputWindow: the goodput of a job over its last hour. The hour is one of the job's own time, in which it is not
// suspended.
#pragma once

#include <deque>
#include <optional>

namespace sailor {

class GoodputWindow {
 public:
  // `elapsed_seconds` and `useful_seconds` are totals of the job. Both may only grow.
  void add(double elapsed_seconds, double useful_seconds);

  // Empty: the window covers less than a minute, because the operator has just started and the job is older than that.
  [[nodiscard]] std::optional<double> ratio() const;

 private:
  struct Point {
    double elapsed = 0;
    double useful = 0;
  };
  std::deque<Point> points_;  // in ascending order; a minute or more apart, but for the newest
};

}  // namespace sailor
