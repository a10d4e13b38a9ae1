// ExhaustiveSearch: every plan of a small problem that may be better than the best one known. Finds plans that local
// search misses because no single change leads to them.
#pragma once

#include <functional>
#include <vector>

#include "planner/problem/planning_problem.h"

namespace sailor {

class ExhaustiveSearch {
 public:
  // Which plans to list.
  struct Scope {
    PlanSpace space = PlanSpace::kFlow;
    MemorySavings savings;
  };
  // Evaluates a plan that may stay below the cutoff, and returns the cutoff for the plans after it.
  using Evaluate = std::function<Cutoff(const GroupedPlan&)>;

  // The problem must outlive the search.
  ExhaustiveSearch(const PlanningProblem& problem, Scope scope, Cutoff cutoff, Evaluate evaluate);

  // Lists plans with few stages first, and stops early after `most_steps`. Returns how many steps are left; below zero,
  // the search is incomplete.
  long run(long most_steps);

 private:
  struct GroupKind {
    int pool = 0;
    int tensor_parallel = 1;
  };
  // Lower bounds that the stages so far imply.
  struct LowerBound {
    double path = 0;     // seconds of a microbatch to the next stage and back from there
    double seconds = 0;  // of the iteration
    DollarsPerHour price;
  };
  // Microbatches of a stage that are not assigned to its replicas yet.
  struct Unassigned {
    std::size_t group = 0;  // of the next replica
    int replica = 0;        // within the group
    int microbatches = 0;
    int most = 0;  // for the next replica
  };

  void choose_layers(int stages_left, const LowerBound& bound);
  void choose_groups(std::size_t kind, int stages_left, const LowerBound& bound);
  void complete_stage(int stages_left, LowerBound bound);
  void partition_microbatches(std::size_t stage, double path);
  void partition_rest(std::size_t stage, const Unassigned& rest, double path);
  void evaluate_partitioned();

  [[nodiscard]] bool is_pruned(const LowerBound& bound) const;
  [[nodiscard]] bool may_have(int layers, int stages_left) const;
  [[nodiscard]] int most_groups(const GroupKind& kind, const GroupedStage& stage) const;
  [[nodiscard]] double pass(const GroupedStage& stage, const ReplicaGroup& group) const;
  [[nodiscard]] int first_layer() const { return plan_.stages.empty() ? 0 : plan_.stages.back().layers.last; }
  // The longest iteration below the cutoff, for a plan whose GPUs are all chosen.
  [[nodiscard]] double most_seconds() const;

  const PlanningProblem& problem_;
  Scope scope_;
  Cutoff cutoff_;
  Evaluate evaluate_;
  std::vector<GroupKind> kinds_;
  long steps_ = 0;           // left
  int stages_ = 0;           // of the plans that are listed now
  GroupedPlan plan_;         // its groups have no microbatches yet
  GroupedPlan partitioned_;  // the same plan, with the microbatches that are assigned so far
  std::vector<int> free_;    // GPUs of each pool
  int gpus_left_ = 0;        // that the plan may still use
  DollarsPerHour price_;     // of the plan's GPUs
};

}  // namespace sailor
