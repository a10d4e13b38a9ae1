// Search: the best plan of a plan space that the planner finds. It starts from many seeds, improves the best of them by
// local search on fast estimates, and simulates the finalists operation by operation. Small problems are searched
// exhaustively as well.
#pragma once

#include <chrono>
#include <limits>
#include <map>
#include <stop_token>
#include <tuple>

#include "planner/problem/draft.h"
#include "planner/problem/objective.h"
#include "planner/relaxation/group_kind_table.h"
#include "planner/replan/migration_cost.h"
#include "planner/search/pareto_front.h"
#include "planner/search/search_report.h"

namespace sailor {

// A plan that the search has evaluated.
struct PlanCandidate {
  Draft draft;
  GroupedPlan plan;
  EstimateSummary estimate;  // the fast estimate, or the simulated one
  Score score;
};

struct SearchLimits {
  std::stop_token stop;
  std::optional<std::chrono::steady_clock::time_point> deadline;

  [[nodiscard]] bool is_over() const;
};

// The incumbent is the best feasible plan known so far; its value is what other plans must stay below. Without one,
// every plan is of interest.
inline constexpr double kNoIncumbent = std::numeric_limits<double>::infinity();

class Search {
 public:
  // Among equally good plans with equally many GPUs, the search prefers the one that moves least state. `migration` is
  // null if no plan is running. Problem and migration must outlive the search.
  Search(const PlanningProblem& problem, SearchLimits limits, const MigrationCost* migration)
      : problem_(problem), limits_(std::move(limits)), migration_(migration) {}

  // Searches the whole space. `tables`: for seeds from the relaxed problem; without tables there are no such seeds.
  void run(PlanSpace space, std::span<const GroupKindTable> tables);

  // Searches only near what is left of a running plan.
  void repair(const Plan& running, PlanSpace space);

  // The candidate with simulated figures instead of its fast estimate. `incumbent`: the value of a feasible plan; then
  // nothing if the candidate's value is above it, or if the candidate misses a limit.
  [[nodiscard]] std::optional<PlanCandidate> simulated(PlanCandidate candidate, double incumbent);

  // Adds a plan from elsewhere to those that the search has seen. Nothing if it is infeasible.
  std::optional<PlanCandidate> offer(const GroupedPlan& plan);

  // The best plan seen: feasible, or else the nearest to it. Null if the search has seen none.
  [[nodiscard]] const PlanCandidate* best() const { return best_ ? &*best_ : nullptr; }
  // The best of the plans that fit in memory, even if they miss other limits.
  [[nodiscard]] const PlanCandidate* best_that_fits() const { return best_that_fits_ ? &*best_that_fits_ : nullptr; }
  [[nodiscard]] const ParetoFront& front() const { return front_; }
  [[nodiscard]] const SearchReport& report() const { return report_; }

 private:
  // Microbatch size, number of stages, whether all replicas have equal shares of microbatches, and memory savings.
  using FinalistShape = std::tuple<int, std::size_t, bool, MemorySavings>;
  // The best start for local search, by microbatch size and number of stages.
  using Starts = std::map<std::pair<int, std::size_t>, PlanCandidate>;

  // Each searches its space with one choice of memory savings.
  void run_paper(const MemorySavings& savings, Starts& starts);
  void run_flow(const MemorySavings& savings, Starts& starts, std::span<const GroupKindTable> tables);
  bool climb_from_best(PlanSpace space, const MemorySavings& savings);
  void climb_from_starts(PlanSpace space, const Starts& starts);
  void climb(Draft from, Score score, PlanSpace space, long most_candidates);
  void keep_best(Starts& starts, const Draft& draft, PlanSpace space);
  [[nodiscard]] double incumbent_for_start(const Starts& starts, const std::pair<int, std::size_t>& shape) const;

  // Simulates the finalists and some of their neighbours operation by operation, because fast estimates only
  // approximate how unequal replicas slow each other down. From then on, best() is the best of the simulated plans.
  // Simulates about `most_passes` passes of microbatches through stages.
  void simulate_finalists(PlanSpace space, long most_passes);
  [[nodiscard]] PlanCandidate refined(PlanCandidate from, PlanSpace space);
  [[nodiscard]] std::vector<PlanCandidate> promising_neighbours(const PlanCandidate& of, int stage, PlanSpace space);
  void note_finalist(const PlanCandidate& candidate);
  [[nodiscard]] std::vector<PlanCandidate> finalists() const;

  // In small problems: simulates every plan that may be better than the best.
  void search_exhaustively(PlanSpace space);

  // Whether plans that take at least `least`, on GPUs of this price, are no better than the incumbent.
  bool is_pruned(Seconds least, DollarsPerHour price, double incumbent);
  bool is_pruned(const Draft& draft, double incumbent);
  // The fast estimate of a draft or plan. Nothing if it is outside the space or the resources, or certainly not better
  // than the incumbent.
  std::optional<PlanCandidate> evaluated(const Draft& draft, PlanSpace space, double incumbent);
  std::optional<PlanCandidate> evaluated_plan(const Draft& draft, GroupedPlan plan, double incumbent);
  [[nodiscard]] bool is_better(const PlanCandidate& candidate, const PlanCandidate& other) const;

  const PlanningProblem& problem_;
  SearchLimits limits_;
  const MigrationCost* migration_;
  std::map<FinalistShape, PlanCandidate> finalists_;  // the best of each shape
  long passes_left_ = 0;                              // that may still be simulated
  std::optional<PlanCandidate> best_;
  std::optional<PlanCandidate> best_that_fits_;
  ParetoFront front_;
  SearchReport report_;
};

}  // namespace sailor
