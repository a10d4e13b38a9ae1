#include "planner/search.h"

#include <algorithm>

#include "planner/moves.h"
#include "planner/seeds.h"
#include "planner/split_seeds.h"

namespace sailor {
namespace {

// The starts that local search climbs from, and the candidates that it may price: work is counted in steps, so that
// the answer does not depend on the machine's speed.
constexpr std::size_t kClimbs = 6;
constexpr long kClimbCandidates = 3'000;
constexpr double kStartSlack = 1.5;  // a start may be so much slower than the best plan and still lead to a better one

}  // namespace

bool SearchLimits::is_over() const {
  return stop.stop_requested() || (deadline && std::chrono::steady_clock::now() >= *deadline);
}

// Whether the draft could be better than a plan that takes so many seconds. Of a draft that costs less, always.
bool Search::is_hopeless(const Draft& draft, double seconds) {
  if (!std::holds_alternative<MaximizeThroughput>(world_.job.objective)) return false;
  if (least_seconds(draft, world_) < seconds) return false;
  ++report_.pruned_by_bound;
  return true;
}

std::optional<Contender> Search::priced(const Draft& draft, PlanSpace space) {
  auto plan = dealt(draft, world_, space);
  return plan ? weighed(draft, *std::move(plan)) : std::nullopt;
}

std::optional<Contender> Search::weighed(const Draft& draft, GroupedPlan plan) {
  if (!keeps_to_resources(plan, world_)) return std::nullopt;
  ++report_.candidates;
  const Quote quote = world_.costs->quote(plan);
  if (quote.memory_excess > Bytes(0)) ++report_.pruned_by_memory;
  const Score score = score_of(quote, plan.gpus(), world_.job);
  Contender candidate{draft, std::move(plan), quote, score};
  if (score.is_feasible()) front_.offer(candidate.plan, quote);
  const bool is_better = !best_ || score < best_->score || (score == best_->score && candidate.plan < best_->plan);
  if (is_better) best_ = candidate;
  return candidate;
}

std::optional<Contender> Search::offer(const GroupedPlan& plan) {
  auto candidate = weighed(draft_of(plan), plan);
  return candidate && candidate->score.is_feasible() ? candidate : std::nullopt;
}

void Search::keep_best(Starts& starts, const Draft& draft, PlanSpace space) {
  if (limits_.is_over() && best_) return;
  if (best_ && best_->score.is_feasible() && is_hopeless(draft, best_->quote.iteration.value() * kStartSlack)) return;
  auto candidate = priced(draft, space);
  if (!candidate) return;
  const auto [found, is_new] = starts.try_emplace({draft.microbatch_size, draft.stages.size()}, *candidate);
  if (!is_new && candidate->score < found->second.score) found->second = *std::move(candidate);
}

// The best change of one stage after the other, until no stage has any that makes the plan better.
void Search::climb(Contender from, PlanSpace space) {
  const long last_candidate = report_.candidates + kClimbCandidates;
  int stage = 0;
  for (int unchanged = 0; unchanged < std::ssize(from.draft.stages); ++stage) {
    if (report_.candidates >= last_candidate || limits_.is_over()) return;
    stage %= static_cast<int>(from.draft.stages.size());
    std::optional<Contender> best;
    visit_neighbours(from.draft, stage, world_, space, [&](const Draft& next) {
      if (from.score.is_feasible() && is_hopeless(next, from.quote.iteration.value())) return;
      const auto candidate = priced(next, space);
      if (candidate && candidate->score < (best ? best->score : from.score)) best = *candidate;
    });
    ++unchanged;
    if (!best) continue;
    from = *std::move(best);
    unchanged = 0;
  }
}

void Search::run_space(PlanSpace space, const Starts& starts) {
  std::vector<Contender> sorted;
  for (const auto& [shape, candidate] : starts) sorted.push_back(candidate);
  std::ranges::stable_sort(sorted, {}, &Contender::score);
  if (sorted.size() > kClimbs) sorted.resize(kClimbs);
  for (Contender& start : sorted) climb(std::move(start), space);
}

// The wider space begins with the answer of the narrower one, so that more freedom never makes a plan worse.
void Search::run(PlanSpace space, std::span<const KindTable> tables) {
  Starts starts;
  visit_even_seeds(world_, [&](const Draft& draft) { keep_best(starts, draft, PlanSpace::kPaper); });
  run_space(PlanSpace::kPaper, starts);
  if (space == PlanSpace::kPaper) return;
  if (best_) climb(*best_, space);
  const auto keep = [&](const Draft& draft) { keep_best(starts, draft, space); };
  visit_uneven_seeds(world_, keep);
  if (best_) visit_split_seeds(world_, tables, best_->quote.iteration.value(), keep);
  run_space(space, starts);
}

}  // namespace sailor
