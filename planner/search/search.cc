#include "planner/search/search.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <set>

#include "core/model/sort_unique.h"
#include "planner/problem/run_both.h"
#include "planner/replan/repair.h"
#include "planner/search/annealing.h"
#include "planner/search/exhaustive_search.h"
#include "planner/search/full_seeds.h"
#include "planner/search/neighbours.h"
#include "planner/search/relaxation_seeds.h"
#include "planner/search/seeds.h"

namespace sailor {
namespace {

// The number of starts from which local search climbs, and of candidates that it may evaluate. Work is counted, not
// timed, so that the answer does not depend on the speed of the machine.
constexpr std::size_t kClimbs = 5;
constexpr long kClimbCandidates = 800;
constexpr long kRepairCandidates = 400;
constexpr std::size_t kSimulatedNeighbours = 4;  // the number of neighbours of a stage that are simulated
// A neighbour may have an estimate that is worse by this factor and still be better in the simulation.
constexpr double kWorseEstimate = 1.02;
constexpr double kLimitOfEstimates = 1.1;  // times the limit that a plan must keep
// Passes of microbatches through stages, there and back, that may be simulated, summed over all plans. Each takes less
// than a microsecond.
constexpr long kPassesOfRepair = 60'000;
constexpr long kPassesOfPaper = 80'000;
constexpr long kPassesOfFlow = 350'000;
constexpr long kPassesOfEquals = 40'000;
constexpr long kPassesOfEqualRepairs = 20'000;
constexpr long kExhaustiveSteps = 400'000;

std::vector<int> pools_of(const Draft& draft) {
  std::vector<int> pools;
  for (const GroupedStage& stage : draft.stages) {
    for (const ReplicaGroup& group : stage.groups) pools.push_back(group.pool);
  }
  sort_unique(pools);
  return pools;
}

// Returns the best of the sorted starts, and the best ones of all tensor-parallel sizes and, if they are told apart, of
// all sets of pools.
std::vector<PlanCandidate> climbed_starts(std::vector<PlanCandidate> sorted, const Breadth& breadth) {
  std::vector<PlanCandidate> chosen;
  std::map<TensorParallelSizes, std::size_t> chosen_of_sizes;
  std::map<std::vector<int>, std::size_t> chosen_of_pools;
  for (PlanCandidate& start : sorted) {
    std::size_t& of_sizes = chosen_of_sizes[tensor_parallel_sizes(start.draft.stages)];
    std::size_t& of_pools = chosen_of_pools[pools_of(start.draft)];
    const bool is_new = of_sizes < breadth.climbs_of_sizes || of_pools < breadth.climbs_of_pools;
    if (chosen.size() >= kClimbs && !is_new) continue;
    ++of_sizes;
    ++of_pools;
    chosen.push_back(std::move(start));
  }
  return chosen;
}

GroupedPlan with_pools(GroupedPlan plan, std::span<const int> pools) {
  renumber_pools(plan.stages, pools);
  return plan;
}

PlanCandidate with_pools(PlanCandidate candidate, std::span<const int> pools) {
  renumber_pools(candidate.plan.stages, pools);
  renumber_pools(candidate.draft.stages, pools);
  return candidate;
}

Draft with_techniques(Draft draft, const Techniques& techniques) {
  draft.techniques = techniques;
  return draft;
}

}  // namespace

Pruning Search::pruning(Seconds least, DollarsPerHour price, double incumbent) {
  if (incumbent == kNoIncumbent) return Pruning::kNone;
  const Cutoff cutoff = goals_.fast.cutoff_for(incumbent);
  const bool is_fast_enough = least < cutoff.iteration;
  const bool keeps_rate = price <= goals_.fast.most_cost_per_hour;
  if (is_fast_enough && keeps_rate && price * least < cutoff.cost) return Pruning::kNone;
  ++report_.pruned_by_bound;
  return is_fast_enough ? Pruning::kThese : Pruning::kNoFaster;
}

bool Search::is_pruned(const Draft& draft, double incumbent) {
  return pruning(Seconds(least_seconds(draft, problem_)), gpu_price(draft.stages, problem_), incumbent) !=
         Pruning::kNone;
}

std::optional<PlanCandidate> Search::evaluated(const Draft& draft, PlanSpace space, double incumbent) {
  if (is_pruned(draft, incumbent)) return std::nullopt;
  auto plan = partitioned(draft, problem_, space);
  if (!plan) return std::nullopt;
  return evaluated_plan(draft, *std::move(plan), incumbent);
}

std::optional<PlanCandidate> Search::evaluated_plan(const Draft& draft, GroupedPlan plan, double incumbent) {
  if (!keeps_to_resources(plan, problem_)) return std::nullopt;
  const Cutoff cutoff = incumbent == kNoIncumbent ? Cutoff{} : goals_.fast.cutoff_for(incumbent);
  const std::optional<EstimateSummary> estimate = estimates_.below(cutoff, plan);
  if (!estimate) {
    ++report_.pruned_by_bound;
    return std::nullopt;
  }
  ++report_.candidates;
  if (estimate->memory_excess > Bytes(0)) ++report_.pruned_by_memory;
  const Score score = goals_.fast.score_of(*estimate, plan.gpus());
  PlanCandidate candidate{draft, std::move(plan), *estimate, score};
  if (score.is_feasible()) {
    front_.add_unless_dominated(candidate.plan, *estimate);
    finalists_.keep_if_best(candidate, order_);
  }
  if (!best_ || order_.is_better(candidate, *best_)) best_ = candidate;
  const bool fits = estimate->memory_excess <= Bytes(0);
  if (fits && (!best_that_fits_ || score < best_that_fits_->score)) best_that_fits_ = candidate;
  return candidate;
}

std::optional<PlanCandidate> Search::add_known_plan(const GroupedPlan& plan) {
  return evaluated_plan(draft_of(plan), plan, kNoIncumbent);
}

// Returns the value that a start of this shape must stay below.
double Search::incumbent_for_start(const Starts& starts, const StartShape& shape) const {
  const double most = best_ ? value_to_beat(best_->score) * breadth_.start_slack : kNoIncumbent;
  const auto found = starts.find(shape);
  return found == starts.end() ? most : std::min(most, value_to_beat(found->second.score));
}

void Search::keep_start_if_best(Starts& starts, const Draft& draft, PlanSpace space) {
  if (limits_.is_over() && best_) return;
  const StartShape shape{draft.microbatch_size, draft.stages.size(), tensor_parallel_sizes(draft.stages),
                         breadth_.climbs_of_pools > 0 ? pools_of(draft) : std::vector<int>()};
  auto candidate = evaluated(draft, space, incumbent_for_start(starts, shape));
  if (!candidate) return;
  const auto [found, is_new] = starts.try_emplace(shape, *candidate);
  if (!is_new && candidate->score < found->second.score) found->second = *std::move(candidate);
}

// Goes from stage to stage and applies the best change of each stage. Ends when no change of any stage improves the
// plan.
void Search::climb(Draft from, Score score, PlanSpace space, long most_candidates) {
  const long last_candidate = report_.candidates + most_candidates;
  int stage = 0;
  for (int unchanged = 0; unchanged < std::ssize(from.stages); ++stage) {
    if (report_.candidates >= last_candidate || limits_.is_over()) return;
    stage %= static_cast<int>(from.stages.size());
    std::optional<PlanCandidate> best;
    visit_neighbours(from, stage, problem_, space, [&](const Draft& next) {
      const Score& to_beat = best ? best->score : score;
      auto candidate = evaluated(next, space, value_to_beat(to_beat));
      if (candidate && candidate->score < to_beat) best = *std::move(candidate);
    });
    ++unchanged;
    if (!best) continue;
    from = std::move(best->draft);
    score = best->score;
    unchanged = 0;
  }
}

void Search::climb_from_starts(PlanSpace space, const Starts& starts) {
  std::vector<PlanCandidate> sorted;
  for (const auto& [shape, candidate] : starts) sorted.push_back(candidate);
  std::ranges::stable_sort(sorted, {}, &PlanCandidate::score);
  sorted = climbed_starts(std::move(sorted), breadth_);
  std::deque<Search> climbs;  // what they find is collected in the order of the starts
  for (std::size_t i = 0; i < sorted.size(); ++i) climbs.emplace_back(problem_, limits_, migration_, goals_);
  run_each(sorted.size(), [&](std::size_t i) {
    climbs[i].climb(std::move(sorted[i].draft), sorted[i].score, space, kClimbCandidates);
  });
  for (const Search& one : climbs) add_plans_of(one);
}

void Search::add_answers_of(const Search& other, std::span<const int> pools) {
  report_.add(other.report_);
  for (const auto& [plan, estimate] : other.front_.all()) {
    if (!goals_.fast.score_of(estimate, plan.gpus()).is_feasible()) continue;
    front_.add_unless_dominated(with_pools(plan, pools), estimate);
  }
  if (auto fitting = other.best_that_fits_) {
    fitting = with_pools(*std::move(fitting), pools);
    fitting->score = goals_.fast.score_of(fitting->estimate, fitting->plan.gpus());
    if (!best_that_fits_ || fitting->score < best_that_fits_->score) best_that_fits_ = *std::move(fitting);
  }
  const auto ours = [&](PlanCandidate answer) {
    answer = with_pools(std::move(answer), pools);
    answer.score = goals_.simulated.score_of(answer.estimate, answer.plan.gpus());
    return answer;
  };
  std::vector<PlanCandidate> answers = other.refined_;
  if (other.best_) answers.push_back(*other.best_);
  for (const PlanCandidate& each : answers) {
    PlanCandidate answer = ours(each);
    if (!answer.score.is_feasible() || (best_ && !order_.is_better(answer, *best_))) continue;
    best_ = std::move(answer);
    best_of_equals_.reset();
  }
  if (!other.best_of_equals_) return;
  const PlanCandidate equal = ours(*other.best_of_equals_);
  if (!equal.score.is_feasible()) return;
  const bool is_of_best = best_ && other.best_ && best_->plan == ours(*other.best_).plan;
  const auto by_second_goal = [](const PlanCandidate& one) { return std::pair(one.score.other_value, one.score.gpus); };
  if (is_of_best) best_of_equals_ = std::ranges::min(best_of_equals_.value_or(equal), equal, {}, by_second_goal);
  if (!best_ || order_.is_better(equal, *best_)) best_ = best_of_equals_ = equal;
}

void Search::polish(PlanSpace space) {
  if (!best_ || !best_->score.is_feasible()) return;
  simulations_.set_budget(kPassesOfFlow);
  refined_ = {refined(*best_, space)};
  best_ = refined_.front();
  if (space == PlanSpace::kFlow && is_worth_annealing()) anneal_best(kNoIncumbent);
  search_among_equals(space, kPassesOfEquals);
}

void Search::add_plans_of(const Search& other) {
  report_.add(other.report_);
  annealed_.add(other.annealed_, {});
  finalists_.add(other.finalists_, order_);
  for (const auto& [plan, estimate] : other.front_.all()) front_.add_unless_dominated(plan, estimate);
  if (other.best_ && (!best_ || order_.is_better(*other.best_, *best_))) best_ = other.best_;
  const auto& fitting = other.best_that_fits_;
  if (fitting && (!best_that_fits_ || fitting->score < best_that_fits_->score)) best_that_fits_ = fitting;
}

// A sharded optimizer frees memory and changes little else, and so do plans without peer replicas if plans with them
// are allowed. If a plan of the other kind is feasible, local search therefore starts only from the best of these
// plans.
bool Search::climb_from_best(PlanSpace space, const Techniques& techniques) {
  const bool may_add_replicas = !techniques.keeps_peer_replicas && problem_.job.redundancy == Redundancy::kAuto;
  if (!techniques.shards_optimizer && !may_add_replicas) return false;
  if (!best_ || !best_->score.is_feasible()) return false;
  const Draft draft = with_techniques(best_->draft, techniques);
  if (auto start = evaluated(draft, space, kNoIncumbent)) climb(draft, start->score, space, kClimbCandidates);
  return true;
}

void Search::run_paper(const Techniques& techniques, Starts& starts) {
  if (climb_from_best(PlanSpace::kPaper, techniques)) return;
  const auto prune = [&](const EvenSeedBound& bound) {
    const double incumbent =
        incumbent_for_start(starts, {bound.microbatch_size, static_cast<std::size_t>(bound.stages), bound.sizes, {}});
    return pruning(Seconds(bound.seconds), bound.price, incumbent);
  };
  visit_even_seeds(problem_, techniques, prune,
                   [&](const Draft& draft) { keep_start_if_best(starts, draft, PlanSpace::kPaper); });
  climb_from_starts(PlanSpace::kPaper, starts);
}

void Search::run_flow(const Techniques& techniques, Starts& starts, std::span<const GroupTimeTable> tables) {
  if (climb_from_best(PlanSpace::kFlow, techniques)) return;
  if (best_) climb(with_techniques(best_->draft, techniques), best_->score, PlanSpace::kFlow, kClimbCandidates);
  const auto keep = [&](const Draft& draft) { keep_start_if_best(starts, draft, PlanSpace::kFlow); };
  std::vector<Draft> relaxed;
  const double seconds = best_ ? best_->estimate.iteration.value() : 0;
  run_both(
      [&] {
        visit_uneven_seeds(problem_, techniques, keep);
        visit_full_seeds(problem_, techniques, keep);
      },
      [&] {
        const auto collect = [&](const Draft& draft) { relaxed.push_back(draft); };
        if (seconds > 0) visit_relaxation_seeds(problem_, techniques, tables, seconds, collect);
      });
  std::ranges::for_each(relaxed, keep);
  climb_from_starts(PlanSpace::kFlow, starts);
}

// The wider space starts from the answer of the narrower one, so that more freedom never makes the answer worse.
void Search::run(PlanSpace space, std::span<const GroupTimeTable> tables, Search* nearby) {
  run_against(nearby != nullptr ? nearby->incumbent() : kNoIncumbent, space, tables);
  if (nearby != nullptr) add_nearby(*nearby, space);
}

void Search::run_against(double rival, PlanSpace space, std::span<const GroupTimeTable> tables) {
  if (std::deque<Search> each = parts(); each.size() > 1) {
    run_each(each.size(), [&](std::size_t i) { each[i].run_whole(space, tables, kNoIncumbent); });
    for (const Search& part : each) add_plans_of(part);
    search_among_equals(space, kPassesOfEquals);
  } else {
    run_whole(space, tables, rival);
  }
}

void Search::add_nearby(Search& nearby, PlanSpace space) {
  if (space == PlanSpace::kFlow && nearby.is_worth_annealing()) nearby.anneal_best(incumbent());
  add_plans_of(nearby);
  search_among_equals(space, kPassesOfEquals);
}

// Returns searches that together look for all plans of this one, each for those that another one would miss:
// * Plans that recompute activations and plans that keep them need very different amounts of memory, so starts that
//   lead to the best plan of one kind are far behind the best of the other.
// * A fast estimate may miss a limit that the plan keeps, and a plan whose estimate keeps the limit may miss it. So
//   one search keeps to the limits, and one looks beyond them.
std::deque<Search> Search::parts() const {
  std::vector<std::optional<bool>> kinds{std::nullopt};
  if (problem_.job.training.activation_checkpointing == ActivationCheckpointing::kAuto) kinds = {false, true};
  std::vector<Goal> goals{goals_.fast};
  if (goals_.fast.limits_iteration()) goals.push_back(goals_.fast.loosened(kLimitOfEstimates));
  std::deque<Search> parts;
  for (const Goal& goal : goals) {
    for (const auto& recomputes : kinds) {
      parts.emplace_back(problem_, limits_, migration_, SearchGoals{goal, goals_.simulated});
      parts.back().recomputes_ = recomputes;
      parts.back().annealed_ = annealed_;
    }
  }
  return parts;
}

void Search::run_whole(PlanSpace space, std::span<const GroupTimeTable> tables, double rival) {
  std::map<Techniques, Starts> starts;
  run_in(PlanSpace::kPaper, starts, tables, rival);
  if (space == PlanSpace::kFlow) run_in(PlanSpace::kFlow, starts, tables, rival);
}

std::vector<Techniques> Search::allowed_techniques() const {
  std::vector<Techniques> allowed = problem_.allowed_techniques();
  std::erase_if(allowed,
                [&](const Techniques& each) { return recomputes_.value_or(each.recomputes) != each.recomputes; });
  return allowed;
}

// If plans may or may not keep peer replicas, the search begins with those that do, as if they were all.
void Search::run_in(PlanSpace space, std::map<Techniques, Starts>& starts, std::span<const GroupTimeTable> tables,
                    double rival) {
  const bool is_paper = space == PlanSpace::kPaper;
  std::optional<PlanCandidate> known = is_paper ? std::nullopt : best_;
  for (const bool keeps_peer_replicas : {true, false}) {
    std::vector<Techniques> allowed = allowed_techniques();
    std::erase_if(allowed, [&](const Techniques& each) { return each.keeps_peer_replicas != keeps_peer_replicas; });
    if (allowed.empty()) continue;
    for (const Techniques& techniques : allowed) {
      is_paper ? run_paper(techniques, starts[techniques]) : run_flow(techniques, starts[techniques], tables);
    }
    simulate_finalists(space, is_paper ? kPassesOfPaper : kPassesOfFlow, keeps_peer_replicas);
    if (!is_paper && is_worth_annealing()) anneal_best(rival);
    search_exhaustively(space, allowed);
    if (known && order_.is_better(*known, best_.value())) best_ = known;
    known = best_;
  }
  search_among_equals(space, kPassesOfEquals);
}

void Search::repair(const Plan& running, PlanSpace space) {
  const Draft surviving = surviving_part(running, problem_);
  std::vector<Draft> starts = repairs(surviving);
  if (has_slow_gpus(problem_.cluster)) {
    std::ranges::move(refills(running, surviving, problem_), std::back_inserter(starts));
  }
  for (const Draft& draft : starts) {
    if (auto start = evaluated(draft, space, kNoIncumbent)) climb(draft, start->score, space, kRepairCandidates);
  }
  simulate_finalists(space, kPassesOfRepair, std::nullopt);
  search_among_equals(space, kPassesOfEqualRepairs);
}

std::unique_ptr<Search> Search::search_near(const Plan& plan, PlanSpace space) const {
  auto near = std::make_unique<Search>(problem_, limits_, migration_);
  near->repair(plan, space);
  return near;
}

void Search::anneal_best(double rival) {
  PlanCandidate best = best_.value();
  for (const PlanCandidate& start : refined_) {
    const double value = best.score.value;
    if (passes_of(start.plan) > kMostAnnealedPasses || start.score.value > value * breadth_.slack_of_sizes) continue;
    if (!annealed_.add(start.plan)) continue;
    const double to_beat = start.plan == best.plan ? rival : std::min(rival, value);
    PlanCandidate next = annealed(problem_, goals_, limits_, start, {order_, to_beat});
    if (order_.is_better(next, best)) best = std::move(next);
  }
  best_ = std::move(best);
}

void Search::search_among_equals(PlanSpace space) { search_among_equals(space, kPassesOfEquals); }

// The front has the fastest plans that may be as cheap and the cheapest that may be as fast.
void Search::search_among_equals(PlanSpace space, long most_passes) {
  const std::optional<PlanCandidate> known = std::exchange(best_of_equals_, std::nullopt);
  if (!best_ || !best_->score.is_feasible()) return;
  const auto fast = estimates_.below({}, best_->plan);
  Search equals(problem_, limits_, migration_,
                {goals_.fast.among_equals_of(fast.value()), goals_.simulated.among_equals_of(best_->estimate)});
  equals.evaluated_plan(best_->draft, best_->plan, kNoIncumbent);
  if (known) equals.evaluated_plan(known->draft, known->plan, kNoIncumbent);
  for (const auto& [plan, estimate] : front_.all()) {
    equals.evaluated_plan(draft_of(plan), plan, kNoIncumbent);
  }
  equals.simulate_finalists(space, most_passes, std::nullopt);
  equals.search_exhaustively(space, allowed_techniques());
  report_.add(equals.report_);
  if (!equals.best_ || !equals.best_->score.is_feasible()) return;
  best_of_equals_ = equals.best_;
  best_of_equals_->score = goals_.simulated.score_of(best_of_equals_->estimate, best_of_equals_->plan.gpus());
  if (order_.is_better(*best_of_equals_, *best_)) best_ = best_of_equals_;
}

// Refines the best plan, and those of other outlines that are not far behind.
void Search::simulate_finalists(PlanSpace space, long most_passes, std::optional<bool> keeps_peer_replicas) {
  simulations_.set_budget(most_passes);
  std::vector<PlanCandidate> finalists = finalists_.sorted(front_, goals_.fast);
  if (keeps_peer_replicas) {
    std::erase_if(finalists, [&](const PlanCandidate& each) {
      return each.plan.techniques.keeps_peer_replicas != *keeps_peer_replicas;
    });
  }
  std::vector<PlanCandidate> bests;
  double value = kNoIncumbent;
  std::set<TensorParallelSizes> simulated_sizes;
  for (auto& [outline, candidates] : by_outline(std::move(finalists))) {
    const bool has_new_sizes = simulated_sizes.insert(outline.sizes).second;
    auto best = simulations_.best_below(value * breadth_.slack(has_new_sizes), std::move(candidates));
    if (!best) continue;
    value = std::min(value, value_to_beat(best->score));
    bests.push_back(*std::move(best));
  }
  if (bests.empty()) return;
  order_.sort_best_first(bests);
  best_ = bests.front();
  refined_.clear();
  if (!best_->score.is_feasible()) return;
  std::set<TensorParallelSizes> refined_sizes;
  for (PlanCandidate& each : bests) {
    const bool has_new_sizes = refined_sizes.insert(tensor_parallel_sizes(each.plan.stages)).second;
    if (value_to_beat(each.score) > value * breadth_.slack(has_new_sizes)) continue;
    refined_.push_back(simulations_.is_over() ? std::move(each) : refined(std::move(each), space));
  }
  order_.sort_best_first(refined_);
  best_ = refined_.front();
}

void Search::search_exhaustively(PlanSpace space, std::span<const Techniques> allowed) {
  if (problem_.most_gpus() > kFewGpus || problem_.ignores_memory) return;
  const auto cutoff = [&] { return goals_.simulated.cutoff_for(passed_by_equals(incumbent())); };
  const auto evaluate = [&](const GroupedPlan& plan) {
    const auto estimate = limits_.is_over() ? std::nullopt : problem_.estimator->fast_estimate_below(cutoff(), plan);
    if (!estimate || estimate->memory_excess > Bytes(0)) return cutoff();
    const auto candidate = simulations_.simulated({draft_of(plan), plan, *estimate, {}}, incumbent());
    if (candidate && candidate->score.is_feasible() && (!best_ || order_.is_better(*candidate, *best_)))
      best_ = *candidate;
    return cutoff();
  };
  long steps = kExhaustiveSteps;
  for (const Techniques& techniques : allowed) {
    steps = ExhaustiveSearch(problem_, {space, techniques}, cutoff(), evaluate).run(steps);
  }
}

// Returns the neighbours at one stage that may be better, the most promising first. Compares fast estimates with each
// other, because neighbours have similar errors.
std::vector<PlanCandidate> Search::promising_neighbours(const PlanCandidate& of, int stage, PlanSpace space) {
  std::vector<PlanCandidate> found;
  const auto estimate = estimates_.below({}, of.plan);
  const double most = std::max(of.score.value, goals_.fast.value_of(estimate.value()) * kWorseEstimate);
  visit_neighbours(of.draft, stage, problem_, space, [&](const Draft& next) {
    auto candidate = evaluated(next, space, most);
    if (candidate && candidate->score.is_feasible()) found.push_back(*std::move(candidate));
  });
  std::ranges::stable_sort(found, {}, &PlanCandidate::score);
  if (found.size() > kSimulatedNeighbours) found.erase(found.begin() + kSimulatedNeighbours, found.end());
  return found;
}

bool Search::is_worth_annealing() const {
  return best_ && best_->score.is_feasible() && problem_.most_gpus() > kFewGpus &&
         passes_of(best_->plan) <= kMostAnnealedPasses;
}

// Runs a local search as climb() does, but with simulations instead of fast estimates.
PlanCandidate Search::refined(PlanCandidate from, PlanSpace space) {
  int stage = 0;
  for (int unchanged = 0; unchanged < std::ssize(from.draft.stages); ++stage, ++unchanged) {
    stage %= static_cast<int>(from.draft.stages.size());
    PlanCandidate next = simulations_.best_of(from, promising_neighbours(from, stage, space));
    if (simulations_.is_over()) return next;
    if (next.plan == from.plan) continue;
    from = std::move(next);
    unchanged = -1;
  }
  return from;
}

}  // namespace sailor
