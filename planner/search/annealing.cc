#include "planner/search/annealing.h"

#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "planner/problem/run_both.h"

namespace sailor {
namespace {

// A plan may be accepted that is worse than the current one by up to this fraction at first, and by less and less.
constexpr double kFirstTolerance = 0.006;
// A changed plan is simulated unless its fast estimate exceeds that of the current plan by more than this.
constexpr double kWorseEstimate = 1.02;
// With slow GPUs, chains end in different places, so several pairs start from the same plan, for fewer rounds.
constexpr int kPairsWithSlowGpus = 3;
constexpr std::size_t kRoundsWithSlowGpus = 4;
// [round]: a plan whose value exceeds that of its rival by this factor before a round will hardly become the better
// one. Measured with slow GPUs (tests/bench/slow_gpus_bench.cc): four rounds shorten a step by at most 28 %, and of the
// plans that became the better one, the last was 5.2 % behind after the first round and 1 % after the second. The fifth
// round has the factor of the fourth.
constexpr std::array kHopeless{1.4, 1.12, 1.04, 1.02, 1.02};
constexpr Annealing::Effort kEffortOfRound{.passes = 75'000, .proposals = 2'500};

}  // namespace

// Makes one or two random changes. Returns nothing if the plan is not feasible or its fast estimate is above the limit.
std::optional<PlanCandidate> Annealing::changed(const PlanCandidate& from, double most_estimate) {
  Draft draft = from.draft;
  const int changes = random_.is_one_in(3) ? 2 : 1;
  for (int i = 0; i < changes; ++i) {
    if (!change_randomly(draft, problem_, random_)) return std::nullopt;
  }
  const Cutoff cutoff = goals_.fast.cutoff_for(most_estimate);
  const Seconds least(least_seconds(draft, problem_));
  if (least >= cutoff.iteration || gpu_price(draft.stages, problem_) * least >= cutoff.cost) return std::nullopt;
  auto plan = partitioned(draft, problem_, PlanSpace::kFlow);
  if (!plan || *plan == from.plan || !keeps_to_resources(*plan, problem_)) return std::nullopt;
  const auto estimate = estimates_.below(cutoff, *plan);
  if (!estimate) return std::nullopt;
  const Score score = goals_.fast.score_of(*estimate, plan->gpus());
  if (!score.is_feasible()) return std::nullopt;
  return PlanCandidate{std::move(draft), *std::move(plan), *estimate, score};
}

// Compares fast estimates only with each other, because plans that differ little have similar errors.
std::optional<PlanCandidate> Annealing::walked(PlanCandidate from, double tolerance, Effort& left) {
  double most = current_estimate_ * (options_.changes == 1 ? kWorseEstimate : 1) * (1 + tolerance);
  int changes = 0;
  for (; changes < options_.changes && left.proposals > 0; --left.proposals) {
    auto next = changed(from, most);
    if (!next) continue;
    from = *std::move(next);
    if (options_.changes > 1) most = from.score.value * (1 + tolerance);
    ++changes;
  }
  if (changes == 0) return std::nullopt;
  return from;
}

void Annealing::run(const Effort& effort, const SearchLimits& limits) {
  Effort left = effort;
  current_estimate_ = goals_.fast.value_of(estimates_.below({}, current_.plan).value());
  while (left.proposals > 0 && left.passes > 0 && !limits.is_over()) {
    const double part_left = static_cast<double>(left.passes) / static_cast<double>(effort.passes);
    const double tolerance = kFirstTolerance * part_left * part_left * random_.fraction();
    auto candidate = walked(current_, tolerance, left);
    if (!candidate) continue;
    left.passes -= passes_of(candidate->plan);
    const double estimate = candidate->score.value;
    const Cutoff cutoff = goals_.simulated.cutoff_for(current_.score.value * (1 + tolerance));
    auto next = simulated_below(cutoff, problem_, goals_.simulated, *std::move(candidate));
    if (!next || !next->score.is_feasible()) continue;
    current_ = *std::move(next);
    current_estimate_ = estimate;
    if (current_.score < best_.score) best_ = current_;
  }
}

namespace {

// Two chains that start from the same plan.
struct Pair {
  Annealing simulating;
  Annealing estimating;
  PlanCandidate best;
};

// The chains that simulate take longer, so they start first.
void run_round(std::vector<Pair>& pairs, const SearchLimits& limits) {
  run_each(2 * pairs.size(), [&](std::size_t i) {
    Annealing& chain = i < pairs.size() ? pairs[i].simulating : pairs[i - pairs.size()].estimating;
    chain.run(kEffortOfRound, limits);
  });
}

// Both chains continue from the better plan.
void join(Pair& pair, const PlanOrder& order) {
  for (const Annealing* chain : {&pair.simulating, &pair.estimating}) {
    if (order.is_better(chain->best(), pair.best)) pair.best = chain->best();
  }
  pair.simulating.continue_from(pair.best);
  pair.estimating.continue_from(pair.best);
}

}  // namespace

PlanCandidate annealed(const PlanningProblem& problem, const SearchGoals& goals, const SearchLimits& limits,
                       PlanCandidate best, const Comparison& comparison) {
  const bool has_slow = has_slow_gpus(problem.cluster);
  const int count = has_slow ? kPairsWithSlowGpus : 1;
  const std::size_t rounds = has_slow ? kRoundsWithSlowGpus : kHopeless.size();
  std::vector<Pair> pairs;
  for (int pair = 0; pair < count; ++pair) {
    const auto seed = static_cast<std::uint64_t>(2 * pair + 1);
    pairs.push_back({Annealing(problem, goals, best, {.seed = seed, .changes = 1}),
                     Annealing(problem, goals, best, {.seed = seed + 1, .changes = 16}), best});
  }
  for (const double hopeless : std::span(kHopeless).first(rounds)) {
    if (limits.is_over() || best.score.value > comparison.rival * hopeless) break;
    run_round(pairs, limits);
    for (Pair& pair : pairs) {
      join(pair, comparison.order);
      if (comparison.order.is_better(pair.best, best)) best = pair.best;
    }
  }
  return best;
}

}  // namespace sailor
