// ExhaustiveSearch: lists every plan that may be better than the best known one, by branch and bound. It finds plans
// that local search misses because no single change leads to them. It is meant for problems with few GPUs; the caller
// decides which problems are small enough.
#pragma once

#include <functional>
#include <vector>

#include "planner/problem/planning_problem.h"

namespace sailor {

class ExhaustiveSearch {
 public:
  // The plans to list.
  struct Scope {
    PlanSpace space = PlanSpace::kFlow;
    Techniques techniques;
  };
  // The search calls this for every plan whose lower bound is below the cutoff. It returns the cutoff for the plans
  // after it.
  using Evaluate = std::function<Cutoff(const GroupedPlan&)>;

  // The problem must outlive the search.
  ExhaustiveSearch(const PlanningProblem& problem, Scope scope, Cutoff cutoff, Evaluate evaluate);

  // Lists plans with few stages first, and stops after `most_steps`. A step is one node of the search tree; evaluating
  // a plan counts as 40 steps. Returns how many steps are left. A negative result means that the search is incomplete.
  long run(long most_steps);

 private:
  struct ReplicaKind {
    int pool = 0;
    int tensor_parallel = 1;
  };
  // Lower bounds on every plan that begins with the stages chosen so far.
  struct LowerBound {
    double path = 0;       // seconds that a microbatch takes through these stages and back
    double seconds = 0;    // seconds of an iteration
    DollarsPerHour price;  // the price of the GPUs of these stages
  };
  // The microbatches of a stage that have no replica yet, and the replica that gets a share of them next.
  struct Unassigned {
    std::size_t group = 0;  // the group of the next replica
    int replica = 0;        // the next replica within the group
    int microbatches = 0;   // how many have no replica yet
    int most = 0;           // the largest share that the next replica may get
  };

  // Each function makes one kind of choice in every possible way and then calls the next one.
  void choose_layers(int stages_left, const LowerBound& bound);
  void choose_groups(std::size_t kind, int stages_left, const LowerBound& bound);
  void complete_stage(int stages_left, LowerBound bound);
  void partition_microbatches(std::size_t stage, double path);
  void partition_rest(std::size_t stage, const Unassigned& rest, double path);
  void evaluate_partitioned();

  [[nodiscard]] bool is_pruned(const LowerBound& bound) const;
  // Whether the next stage may have this number of layers if `stages_left` stages, including this one, are missing.
  [[nodiscard]] bool may_have_layers(int layers, int stages_left) const;
  [[nodiscard]] int most_groups(const ReplicaKind& kind, const GroupedStage& stage) const;
  [[nodiscard]] double pass(const GroupedStage& stage, const ReplicaGroup& group) const;
  [[nodiscard]] double room_of(const GroupedStage& stage, const ReplicaGroup& group, double path) const;
  [[nodiscard]] int first_layer() const { return plan_.stages.empty() ? 0 : plan_.stages.back().layers.last; }
  // The time at which an iteration reaches the cutoff, if the GPUs of the plan are all chosen.
  [[nodiscard]] double most_seconds() const;

  const PlanningProblem& problem_;
  Scope scope_;
  Cutoff cutoff_;
  Evaluate evaluate_;
  std::vector<ReplicaKind> kinds_;
  long steps_ = 0;           // how many steps are left
  int stages_ = 0;           // the number of stages of the plans that are listed now
  GroupedPlan plan_;         // the plan under construction; its groups have no microbatches yet
  GroupedPlan partitioned_;  // the same plan, with the microbatches that are assigned so far
  std::vector<int> free_;    // free GPUs of each pool
  int gpus_left_ = 0;        // how many more GPUs the plan may use
  DollarsPerHour price_;     // price of the plan's GPUs
};

}  // namespace sailor
