// SplitSolver: finds the cheapest way to split the layers into stages in the relaxed problem. In this problem, GPUs
// have prices instead of a limited number, and all passes must complete within a given time. The solver is a dynamic
// program whose size does not depend on the number of GPUs. Its splits are starting points for the search. They prove
// nothing; proofs use proof/split_bound_solver.h.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "planner/relaxation/group_time_table.h"
#include "planner/relaxation/rounded_down.h"

namespace sailor {

inline constexpr double kUnreached = std::numeric_limits<double>::infinity();  // the price where no split leads

// The time limits of a split, in seconds.
struct TimeLimits {
  double passes = 0;  // the time from the start of a step to its last backward pass
  // The time of a stage's gradient sum and update after its last backward pass, without the part that earlier stages
  // hide (GroupTimeTable::most_hidden).
  double sync_and_update = 0;
};

// One stage of a split: its layers, the kind of group that does most of its work, and the number of such groups that
// the work needs. This number need not be whole.
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
  // The table must outlive the solver. The solver rounds the time of a microbatch's path down to one of `levels` steps.
  // More levels give a tighter bound and take longer.
  SplitSolver(const GroupTimeTable& table, int levels) : table_(table), levels_(levels) {}

  // Returns the cheapest split that meets the limits, or nothing if every split costs more than `most`. `prices` are
  // per group of each kind.
  std::optional<CheapestSplit> solve(const TimeLimits& limits, std::span<const double> prices, double most);

 private:
  // The cheapest way found to reach a layer at a level.
  struct Cell {
    double price = 0;
    int from_level = -1;
    StageSegment segment;
  };
  // One kind of group as a choice for a stage.
  struct Option {
    int kind = 0;
    double pass = 0;  // seconds of a microbatch
    double price = 0;
    double groups = 0;
    double whole_price = 0;  // the price of a whole number of groups
  };
  // A state of the dynamic program: the first layer of the next stage, and the level of the time that a microbatch
  // takes to get there and back.
  struct Position {
    int layer = 0;
    int level = 0;
  };

  [[nodiscard]] Cell& cell(int layer, int level) {
    return cells_[static_cast<std::size_t>(layer) * static_cast<std::size_t>(levels_ + 1) +
                  static_cast<std::size_t>(level)];
  }
  void extend(Position from, const TimeLimits& limits, std::span<const double> prices);
  bool list_options(Position from, int last, const TimeLimits& limits, std::span<const double> prices);
  [[nodiscard]] double least_mixed(std::span<const double> prices) const;
  void add_stage(Position from, int last, double passed, double least_mixed);
  void keep_if_cheaper(Position from, Position to, const StageSegment& segment, double price);
  [[nodiscard]] double longest_path() const;
  void set_rest(std::span<const double> prices);
  [[nodiscard]] double least_rest(Position from) const;
  [[nodiscard]] CheapestSplit traced(int level);

  const GroupTimeTable& table_;
  int levels_;
  double level_time_ = 0;  // seconds of one level
  double most_ = 0;
  double passes_ = 0;
  // [layer]: a lower bound on the price of groups that process this layer and all later ones in one second.
  std::vector<double> rest_;
  std::vector<Cell> cells_;  // [layer][level]
  std::vector<Option> options_;
};

}  // namespace sailor
