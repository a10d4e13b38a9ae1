// Finalists: the best plan of each shape that a search has seen. A search simulates them, because fast estimates only
// approximate how unequal replicas slow each other down.
#pragma once

#include <cstddef>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/search/pareto_front.h"
#include "planner/search/plan_order.h"
#include "planner/search/tensor_parallel_sizes.h"

namespace sailor {

class Finalists {
 public:
  void keep_if_best(const PlanCandidate& candidate, const PlanOrder& order);
  void add(const Finalists& others, const PlanOrder& order);

  // Returns them with the plans that will be shown as alternatives, one of which might otherwise turn out to be better
  // than the answer. The first is the best plan with equal shares, because its fast estimate is nearly exact; the
  // others follow by ascending score. `goal` is that of fast estimates.
  [[nodiscard]] std::vector<PlanCandidate> sorted(const ParetoFront& front, const Goal& goal) const;

 private:
  // Microbatch size, number of stages, tensor-parallel sizes, whether all replicas have equal shares of
  // microbatches, and techniques.
  using Shape = std::tuple<int, std::size_t, TensorParallelSizes, bool, Techniques>;

  std::map<Shape, PlanCandidate> best_;
};

// Local search and random changes rarely lead from one outline to another.
struct Outline {
  TensorParallelSizes sizes;
  std::size_t stages = 0;
  friend bool operator==(const Outline&, const Outline&) = default;
};
inline Outline outline_of(const GroupedPlan& plan) { return {tensor_parallel_sizes(plan.stages), plan.stages.size()}; }

// Groups candidates by their outlines, in the order of the first candidate of each group.
using CandidatesOfOutline = std::pair<Outline, std::vector<PlanCandidate>>;
std::vector<CandidatesOfOutline> by_outline(std::vector<PlanCandidate> candidates);

}  // namespace sailor
