// StageProgram: the cheapest way to split the layers into stages, if GPUs have prices and the passes must be done in a
// given time. A dynamic program whose size does not depend on how many GPUs there are. Finds splits to begin a search
// with; split_bound_solver.h is what proofs rest on.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "planner/relaxation/group_kind_table.h"

namespace sailor {

// What is asked of a plan, in seconds.
struct TimeLimits {
  double passes = 0;  // from the start of a step to its last backward pass
  double finish = 0;  // from a stage's last backward pass to its last update, beyond what earlier stages hide of it
};

// Layers and the kind of groups that do most of their work, as many as it takes: not a whole number.
struct Leg {
  int first_layer = 0;
  int last_layer = 0;
  int kind = 0;
  double groups = 0;
};

struct CheapestSplit {
  double price = 0;
  std::vector<Leg> legs;
};

class StageProgram {
 public:
  // The table outlives the program. More levels of time make the bound tighter and the program slower.
  StageProgram(const KindTable& table, int levels) : table_(table), levels_(levels) {}

  // Nothing if every split costs more than `most`. `prices` are of a group of each kind.
  std::optional<CheapestSplit> solve(const TimeLimits& limits, std::span<const double> prices, double most);

 private:
  struct Cell {
    double price = 0;
    int from_level = -1;
    Leg leg;
  };
  struct Option {  // of a stage: how long a microbatch takes, and what the groups cost that do all of them
    int kind = 0;
    double pass = 0;
    double price = 0;
    double groups = 0;
    double whole_price = 0;  // with whole groups
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
  void offer(Spot from, Spot to, const Leg& leg, double price);
  [[nodiscard]] double longest_way() const;
  void set_rest(std::span<const double> prices);
  [[nodiscard]] double least_rest(Spot from) const;
  [[nodiscard]] CheapestSplit traced(int level);

  const KindTable& table_;
  int levels_;
  double level_time_ = 0;
  double most_ = 0;
  double passes_ = 0;
  std::vector<double> rest_;  // [layer]: no groups that do this layer and all after it in a second cost less
  std::vector<Cell> cells_;   // [layer][level of the time that a microbatch takes to get there and back]
  std::vector<Option> options_;
};

}  // namespace sailor
