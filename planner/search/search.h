// Search: finds a good plan in a plan space. The search has five phases:
// * It generates starting drafts (seeds.h, relaxation_seeds.h).
// * It improves the best of them by local search (neighbours.h), guided by fast estimates.
// * It simulates the most promising plans, the finalists, operation by operation.
// * It improves the best one, and those of other tensor-parallel sizes, by random changes (annealing.h).
// * If the problem is small, it also lists every plan that may be better (exhaustive_search.h).
// Then a second search, with the second goal, looks for the best of all plans that are as good (goal.h).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <tuple>

#include "planner/relaxation/group_time_table.h"
#include "planner/search/annealed_plans.h"
#include "planner/search/breadth.h"
#include "planner/search/fast_estimates.h"
#include "planner/search/finalists.h"
#include "planner/search/search_report.h"
#include "planner/search/seeds.h"
#include "planner/search/simulations.h"

namespace sailor {

class Search {
 public:
  // `migration` is null if no plan is running (plan_order.h). The problem and the migration cost must outlive the
  // search.
  Search(const PlanningProblem& problem, SearchLimits limits, const MigrationCost* migration)
      : Search(problem, std::move(limits), migration, {Goal::of(problem.job), Goal::of(problem.job)}) {}

  // A search for other goals than those of the job.
  Search(const PlanningProblem& problem, SearchLimits limits, const MigrationCost* migration, SearchGoals goals)
      : problem_(problem),
        limits_(std::move(limits)),
        migration_(migration),
        goals_(goals),
        breadth_(Breadth::of(problem)),
        order_(problem, migration),
        estimates_(problem),
        simulations_(problem, limits_, goals_.simulated, order_) {}
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // Searches the whole space. `tables` are the input of the seeds from the relaxed problem; if they are empty, the
  // search does without these seeds. `nearby` is the result of search_near(), which is added, or null.
  void run(PlanSpace space, std::span<const GroupTimeTable> tables, Search* nearby = nullptr);
  // Makes run() also improve the best starts of every set of pools. This needs more time and finds other plans.
  void tell_pools_apart() { breadth_.climbs_of_pools = 2; }
  // The same as run(), but gives up random changes of plans that will hardly become better than `rival`, the value of a
  // plan of another search.
  void run_against(double rival, PlanSpace space, std::span<const GroupTimeTable> tables);

  // The plans that have been annealed, and need not be again by another search that has the same goals.
  [[nodiscard]] const AnnealedPlans& annealed_plans() const { return annealed_; }
  // `pools` is as for add_answers_of().
  void skip_annealed(const AnnealedPlans& plans, std::span<const int> pools = {}) { annealed_.add(plans, pools); }

  // Takes over the plans of the result of search_near(), and may first improve its best one by annealing.
  void add_nearby(Search& nearby, PlanSpace space);
  // Adds the answers of a search of the same problem that has another goal, as far as they are feasible by this goal.
  // `pools` says which pools of this problem those of the other one are; empty: the same.
  void add_answers_of(const Search& other, std::span<const int> pools = {});
  // Improves the best plan by local search and random changes.
  void polish(PlanSpace space);
  // Looks again for the best of the plans that are as good as the best one, by the second goal.
  void search_among_equals(PlanSpace space);

  // Searches only near the part of the running plan that still has its GPUs (see repair.h).
  void repair(const Plan& running, PlanSpace space);

  // Returns another search of the same problem that has searched near this plan only, as repair() does.
  [[nodiscard]] std::unique_ptr<Search> search_near(const Plan& plan, PlanSpace space) const;

  // Returns the candidate with the simulated figures.
  [[nodiscard]] std::optional<PlanCandidate> simulated(PlanCandidate candidate) const {
    return simulations_.simulated(std::move(candidate), kNoIncumbent);
  }

  // Adds a plan that the caller already has, such as the running one, and returns its fast estimate, which may miss
  // limits that the plan keeps. Returns nothing if the plan needs more resources than there are.
  std::optional<PlanCandidate> add_known_plan(const GroupedPlan& plan);

  [[nodiscard]] const PlanningProblem& problem() const { return problem_; }
  [[nodiscard]] const SearchLimits& limits() const { return limits_; }
  // The best plan so far: the best feasible one, or else the one that comes nearest to being feasible. Null if the
  // search has seen no plan. After run() or repair(), the figures of a feasible plan come from the simulation, and of
  // all plans that are as good, it is the best by the second goal.
  [[nodiscard]] const PlanCandidate* best() const {
    if (best_of_equals_) return &*best_of_equals_;
    return best_ ? &*best_ : nullptr;
  }
  // By fast estimates, the best plan that fits in memory. It may miss other limits.
  [[nodiscard]] const PlanCandidate* best_that_fits() const { return best_that_fits_ ? &*best_that_fits_ : nullptr; }
  // The Pareto front of all feasible plans seen, by fast estimates.
  [[nodiscard]] const ParetoFront& front() const { return front_; }
  [[nodiscard]] const SearchReport& report() const { return report_; }

 private:
  // Microbatch size, number of stages, tensor-parallel sizes, and the pools if the search tells them apart.
  using StartShape = std::tuple<int, std::size_t, TensorParallelSizes, std::vector<int>>;
  using Starts = std::map<StartShape, PlanCandidate>;  // the best start of each shape

  // Searches without parts.
  void run_whole(PlanSpace space, std::span<const GroupTimeTable> tables, double rival);
  // Searches one plan space with every choice of techniques. `starts` passes the best starts of the narrower space on.
  void run_in(PlanSpace space, std::map<Techniques, Starts>& starts, std::span<const GroupTimeTable> tables,
              double rival);
  [[nodiscard]] double incumbent() const { return best_ ? value_to_beat(best_->score) : kNoIncumbent; }
  [[nodiscard]] std::deque<Search> parts() const;
  // Those of the problem, or those of them that recompute activations, or that do not.
  [[nodiscard]] std::vector<Techniques> allowed_techniques() const;
  // Both search their plan space with one choice of techniques.
  void run_paper(const Techniques& techniques, Starts& starts);
  void run_flow(const Techniques& techniques, Starts& starts, std::span<const GroupTimeTable> tables);
  // Local search: each function starts from one or several plans and repeatedly takes the best change.
  bool climb_from_best(PlanSpace space, const Techniques& techniques);
  void climb_from_starts(PlanSpace space, const Starts& starts);
  void add_plans_of(const Search& other);
  void climb(Draft from, Score score, PlanSpace space, long most_candidates);
  void keep_start_if_best(Starts& starts, const Draft& draft, PlanSpace space);
  [[nodiscard]] double incumbent_for_start(const Starts& starts, const StartShape& shape) const;

  // Simulates the finalists and some of their neighbours. Afterwards, best() is the best of the simulated plans.
  // `most_passes` limits the work: the number of forward and backward passes of microbatches through stages. Plans
  // that keep peer replicas although `keeps_peer_replicas` is false, or the other way round, are left out.
  void simulate_finalists(PlanSpace space, long most_passes, std::optional<bool> keeps_peer_replicas);
  [[nodiscard]] PlanCandidate refined(PlanCandidate from, PlanSpace space);
  // `rival` is the value of the best plan of another search that is annealed too, or kNoIncumbent.
  void anneal_best(double rival);
  [[nodiscard]] bool is_worth_annealing() const;
  [[nodiscard]] std::vector<PlanCandidate> promising_neighbours(const PlanCandidate& of, int stage, PlanSpace space);

  // Does nothing if the problem is large. Otherwise simulates every plan that may be better than the best one.
  void search_exhaustively(PlanSpace space, std::span<const Techniques> allowed);

  // Sets best_of_equals_, by a search with the second goal that starts from all plans seen. `most_passes` limits the
  // work of the simulations.
  void search_among_equals(PlanSpace space, long most_passes);

  // Says whether a plan that takes at least `least` on GPUs of this price can be better than the incumbent. Counts the
  // pruned plan in the report.
  Pruning pruning(Seconds least, DollarsPerHour price, double incumbent);
  // Whether the lower bound of the draft is too high. Makes no estimate.
  bool is_pruned(const Draft& draft, double incumbent);
  // Makes the fast estimate of a draft or plan and keeps the plan if it is the best so far. Returns nothing if the plan
  // is outside the space, needs more resources than there are, or is certainly not better than the incumbent.
  std::optional<PlanCandidate> evaluated(const Draft& draft, PlanSpace space, double incumbent);
  std::optional<PlanCandidate> evaluated_plan(const Draft& draft, GroupedPlan plan, double incumbent);

  const PlanningProblem& problem_;
  SearchLimits limits_;
  const MigrationCost* migration_;
  SearchGoals goals_;
  Breadth breadth_;
  PlanOrder order_;
  FastEstimates estimates_;
  Simulations simulations_;
  Finalists finalists_;
  std::optional<bool> recomputes_;  // set: only plans that do, or only those that do not
  AnnealedPlans annealed_;
  std::optional<PlanCandidate> best_;
  std::vector<PlanCandidate> refined_;           // the best by tensor-parallel sizes, the best first
  std::optional<PlanCandidate> best_of_equals_;  // the best by the second goal of the plans that are as good as best_
  std::optional<PlanCandidate> best_that_fits_;
  ParetoFront front_;
  SearchReport report_;
};

}  // namespace sailor
