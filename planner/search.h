// Search: from many seeds, by local search, to the best plan of a space.
#pragma once

#include <chrono>
#include <map>
#include <stop_token>

#include "planner/draft.h"
#include "planner/kind_table.h"
#include "planner/objective.h"
#include "planner/pareto.h"

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

class Search {
 public:
  Search(const World& world, SearchLimits limits) : world_(world), limits_(std::move(limits)) {}

  // `tables` of the world; empty: without seeds from them.
  void run(PlanSpace space, std::span<const KindTable> tables);

  // A plan from elsewhere; nothing if it is not feasible here. It counts as seen.
  std::optional<Contender> offer(const GroupedPlan& plan);

  // The best plan seen, feasible or the nearest to it; null if there was none at all.
  [[nodiscard]] const Contender* best() const { return best_ ? &*best_ : nullptr; }
  [[nodiscard]] const ParetoFront& front() const { return front_; }
  [[nodiscard]] const SearchReport& report() const { return report_; }

 private:
  using Starts = std::map<std::pair<int, std::size_t>, Contender>;  // by microbatch size and number of stages

  void run_space(PlanSpace space, const Starts& starts);
  [[nodiscard]] Starts even_starts();
  void keep_best(Starts& starts, const Draft& draft, PlanSpace space);
  void climb(Contender from, PlanSpace space);
  bool is_hopeless(const Draft& draft, double seconds);
  std::optional<Contender> priced(const Draft& draft, PlanSpace space);
  std::optional<Contender> weighed(const Draft& draft, GroupedPlan plan);

  const World& world_;
  SearchLimits limits_;
  std::optional<Contender> best_;
  ParetoFront front_;
  SearchReport report_;
};

}  // namespace sailor
