// SplitSolver: the cheapest way to split the layers into stages, if GPUs have prices, their number is unlimited, and
// all passes must complete within a given time. A dynamic program whose size does not depend on the number of GPUs. Its
// splits are starting points for the search; proofs rest on proof/split_bound_solver.h instead.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "planner/relaxation/group_kind_table.h"

namespace sailor {

// What is asked of a plan, in seconds.
struct TimeLimits {
  double passes = 0;  // from the start of a step to its last backward pass
  double finish = 0;  // from a stage's last backward pass to its last update, minus what earlier stages hide of it
};

// One stage of a split: its layers, the kind of group that does most of its work, and how many such groups that takes,
// which need not be a whole number.
struct StageSegment {
  LayerRange layers;
  int kind = 0;
  double groups = 0;
};

struct CheapestSplit {
  double price = 0;
  std::vector<StageSegment> segments;
};

class SplitSolver {
 public:
  // The table must outlive the solver. `levels`: into how many steps the time of a microbatch's path is rounded down;
  // more levels give a tighter bound and take longer.
  SplitSolver(const GroupKindTable& table, int levels) : table_(table), levels_(levels) {}

  // Nothing if every split costs more than `most`. `prices` are per group of each kind.
  std::optional<CheapestSplit> solve(const TimeLimits& limits, std::span<const double> prices, double most);

 private:
  struct Cell {
    double price = 0;
    int from_level = -1;
    StageSegment segment;
  };
  // A kind for a stage: how long a microbatch takes, and the price of groups that process all microbatches.
  struct Option {
    int kind = 0;
    double pass = 0;
    double price = 0;
    double groups = 0;
    double whole_price = 0;  // with a whole number of groups
  };
  struct Spot {
    int layer = 0;
    int level = 0;
  };

  [[nodiscard]] Cell& cell(int layer, int level) {
    return cells_[static_cast<std::size_t>(layer) * static_cast<std::size_t>(levels_ + 1) +
                  static_cast<std::size_t>(level)];
  }
  void extend(Spot from, const TimeLimits& limits, std::span<const double> prices);
  bool list_options(Spot from, int last, const TimeLimits& limits, std::span<const double> prices);
  [[nodiscard]] double least_mixed(std::span<const double> prices) const;
  void relax(Spot from, int last, double passed, double least_mixed);
  void offer(Spot from, Spot to, const StageSegment& segment, double price);
  [[nodiscard]] double longest_path() const;
  void set_rest(std::span<const double> prices);
  [[nodiscard]] double least_rest(Spot from) const;
  [[nodiscard]] CheapestSplit traced(int level);

  const GroupKindTable& table_;
  int levels_;
  double level_time_ = 0;  // seconds
  double most_ = 0;
  double passes_ = 0;
  std::vector<double> rest_;  // [layer]: a lower bound on the price of groups that do the layers from here in a second
  std::vector<Cell> cells_;   // [layer][level of the time that a microbatch takes to get there and back]
  std::vector<Option> options_;
};

}  // namespace sailor
