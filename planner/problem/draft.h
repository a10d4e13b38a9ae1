// Draft: a plan in the making: which groups work on which layers. How many microbatches each gets follows from it.
#pragma once

#include <optional>
#include <vector>

#include "planner/problem/grouped_plan.h"
#include "planner/problem/planning_problem.h"

namespace sailor {

// Equal tensor-parallel groups of one stage.
struct Crew {
  int pool = 0;
  int degree = 1;
  int count = 0;
  friend auto operator<=>(const Crew&, const Crew&) = default;

  [[nodiscard]] bool is_like(const Crew& other) const { return pool == other.pool && degree == other.degree; }
};

struct DraftStage {
  int first_layer = 0;
  int last_layer = 0;
  std::vector<Crew> crews;
  friend auto operator<=>(const DraftStage&, const DraftStage&) = default;

  [[nodiscard]] int replicas() const;
  void add(const Crew& crew);  // count may be negative
};

struct Draft {
  int microbatch_size = 1;
  std::vector<DraftStage> stages;
  friend auto operator<=>(const Draft&, const Draft&) = default;
};

// Deals the step's microbatches out: in the paper's space evenly, else so that all replicas of a stage are done at
// about the same time. Nothing if a replica would get none, a stage has no replica, or the space does not hold it.
std::optional<GroupedPlan> dealt(const Draft& draft, const World& world, PlanSpace space);

// Seconds that no plan takes less whose stages are these: the work of the busiest replica, and the way to it and back.
double least_seconds(const Draft& draft, const World& world);

// What its GPUs cost while it runs.
DollarsPerHour gpu_price(const Draft& draft, const World& world);

// Who works on what in a finished plan.
Draft draft_of(const GroupedPlan& plan);

// Equal numbers of replicas in all stages, and layers that differ by at most one.
bool is_paper_shaped(const Draft& draft);

// The paper's split: as even as can be, the first stages take what is left over.
std::vector<std::pair<int, int>> even_layers(int layers, int stages);

}  // namespace sailor
