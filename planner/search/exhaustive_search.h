// Exhaustive: every plan of a small world that may be better than the best one known. What local search misses there
// are plans that no single step leads to.
#pragma once

#include <functional>
#include <vector>

#include "planner/problem/planning_problem.h"

namespace sailor {

class Exhaustive {
 public:
  // Is shown plans that may stay below the ceiling, and says what the ceiling is from then on.
  using Show = std::function<Ceiling(const GroupedPlan&)>;

  // The world, with its savings, outlives it.
  Exhaustive(const World& world, PlanSpace space, Ceiling ceiling, Show show);

  // Plans of few stages first. It ends early after so many steps. Returns how many are left, below zero if they did not
  // suffice.
  long run(long most_steps);

 private:
  struct Kind {
    int pool = 0;
    int degree = 1;
  };
  // What is sure of the stages so far.
  struct Least {
    double before = 0;   // a microbatch reaches the next stage, and comes back from there, in no less than this
    double seconds = 0;  // of the step
    DollarsPerHour price;
  };
  // Equal replicas of a stage whose microbatches are being dealt out.
  struct Undealt {
    std::size_t group = 0;
    int replica = 0;  // of the group
    int left = 0;     // microbatches
    int most = 0;     // of the next replica
  };

  void choose_layers(int stages_left, const Least& least);
  void choose_crews(std::size_t kind, int stages_left, const Least& least);
  void close_stage(int stages_left, Least least);
  void deal(std::size_t stage, double before);
  void deal_rest(std::size_t stage, const Undealt& rest, double before);
  void show_dealt();

  [[nodiscard]] bool is_hopeless(const Least& least) const;
  [[nodiscard]] bool may_have(int layers, int stages_left) const;
  [[nodiscard]] int most_groups(const Kind& kind, const GroupedStage& stage) const;
  [[nodiscard]] double pass(const GroupedStage& stage, const ReplicaGroup& group) const;
  [[nodiscard]] int first_layer() const { return plan_.stages.empty() ? 0 : plan_.stages.back().last_layer; }
  // By the ceiling, for a plan whose GPUs are all known.
  [[nodiscard]] double most_seconds() const;

  const World& world_;
  PlanSpace space_;
  Ceiling ceiling_;
  Show show_;
  std::vector<Kind> kinds_;
  long steps_ = 0;         // left
  int stages_ = 0;         // of the plans that are made now
  GroupedPlan plan_;       // the microbatches of its groups are not dealt out
  GroupedPlan dealt_;      // the same, as far as they are
  std::vector<int> free_;  // GPUs of each pool
  int gpus_left_ = 0;      // that the plan may have
  DollarsPerHour price_;   // of the plan's GPUs
};

}  // namespace sailor
