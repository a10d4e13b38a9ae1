// Search: from many seeds, by local search, to the best plan of a space.
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

struct Contender {
  Draft draft;
  GroupedPlan plan;
  Quote quote;
  Score score;
};

struct SearchLimits {
  std::stop_token stop;
  std::optional<std::chrono::steady_clock::time_point> deadline;

  [[nodiscard]] bool is_over() const;
};

// The value of a plan that is there already and that others have to be better than.
inline constexpr double kNoRival = std::numeric_limits<double>::infinity();

class Search {
 public:
  // Of plans that are equally good, with as many GPUs, the one that moves least state is better; null: none is running.
  Search(World world, SearchLimits limits, const Moving* moving)
      : world_(std::move(world)), limits_(std::move(limits)), moving_(moving) {}

  // `tables` of the world; empty: without seeds from them.
  void run(PlanSpace space, std::span<const KindTable> tables);

  // From what is left of a running plan to the best plan a few steps away.
  void repair(const Plan& running, PlanSpace space);

  // With the quote of the plan played; nothing if its value is above `rival`, that of a feasible plan, or it misses a
  // limit.
  [[nodiscard]] std::optional<Contender> played(Contender candidate, double rival);

  // A plan from elsewhere; nothing if it is not feasible here. It counts as seen.
  std::optional<Contender> offer(const GroupedPlan& plan);

  // The best plan seen, feasible or the nearest to it; null if there was none at all.
  [[nodiscard]] const Contender* best() const { return best_ ? &*best_ : nullptr; }
  // Of those that fit in memory, whatever other limits they miss.
  [[nodiscard]] const Contender* best_that_fits() const { return best_that_fits_ ? &*best_that_fits_ : nullptr; }
  [[nodiscard]] const ParetoFront& front() const { return front_; }
  [[nodiscard]] const SearchReport& report() const { return report_; }

 private:
  // Microbatch size, number of stages, whether replicas have equal shares, and what is done to save memory.
  using FinalistShape = std::tuple<int, std::size_t, bool, bool, bool>;
  using Starts = std::map<std::pair<int, std::size_t>, Contender>;  // by microbatch size and number of stages

  void run_paper(Starts& starts);
  void run_flow(Starts& starts, std::span<const KindTable> tables);
  bool starts_from_best(PlanSpace space);
  // Of the plans seen, those that may be the best, and some near them, are played operation by operation: in their
  // quotes the effects of unequal replicas on one another are only estimated. From then on best() is the best of those.
  // `most_passes` of microbatches through stages, more or less.
  void settle(PlanSpace space, long most_passes);
  // In small worlds: all plans that may be better than the best.
  void exhaust(PlanSpace space);
  void run_space(PlanSpace space, const Starts& starts);
  [[nodiscard]] double rival_of_start(const Starts& starts, const std::pair<int, std::size_t>& shape) const;
  void keep_best(Starts& starts, const Draft& draft, PlanSpace space);
  void climb(Contender from, PlanSpace space, long most_candidates);
  // No faster than `least`, on GPUs of that price.
  bool is_hopeless(Seconds least, DollarsPerHour price, double rival);
  bool is_hopeless(const Draft& draft, double rival);
  // Nothing if it is surely no better than `rival`, the value of a feasible plan.
  std::optional<Contender> priced(const Draft& draft, PlanSpace space, double rival);
  std::optional<Contender> weighed(const Draft& draft, GroupedPlan plan, double rival);

  [[nodiscard]] bool is_better(const Contender& candidate, const Contender& other) const;
  void note_finalist(const Contender& candidate);
  [[nodiscard]] std::vector<Contender> finalists() const;
  [[nodiscard]] Contender polished(Contender from, PlanSpace space);
  [[nodiscard]] std::vector<Contender> promising_neighbours(const Contender& of, int stage, PlanSpace space);

  World world_;
  SearchLimits limits_;
  const Moving* moving_;
  std::map<FinalistShape, Contender> finalists_;  // the best of each shape
  long passes_left_ = 0;
  std::optional<Contender> best_;
  std::optional<Contender> best_that_fits_;
  ParetoFront front_;
  SearchReport report_;
};

}  // namespace sailor
