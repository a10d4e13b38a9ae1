#include "planner/search.h"

#include <algorithm>

#include "planner/moves.h"
#include "planner/seeds.h"

namespace sailor {
namespace {

// The starts that local search climbs from, and the candidates that it may price: work is counted in steps, so that
// the answer does not depend on the machine's speed.
constexpr std::size_t kClimbs = 6;
constexpr long kClimbCandidates = 12'000;

}  // namespace

bool SearchLimits::is_over() const {
  return stop.stop_requested() || (deadline && std::chrono::steady_clock::now() >= *deadline);
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
  auto candidate = priced(draft, space);
  if (!candidate) return;
  const auto [found, is_new] = starts.try_emplace({draft.microbatch_size, draft.stages.size()}, *candidate);
  if (!is_new && candidate->score < found->second.score) found->second = *std::move(candidate);
}

// The best neighbour, again and again, until there is no better one.
void Search::climb(Contender from, PlanSpace space) {
  const long last_candidate = report_.candidates + kClimbCandidates;
  for (bool improved = true; improved;) {
    improved = false;
    Contender best = from;
    visit_neighbours(from.draft, world_, space, [&](const Draft& next) {
      if (report_.candidates >= last_candidate || limits_.is_over()) return;
      const auto candidate = priced(next, space);
      if (candidate && candidate->score < best.score) {
        best = *candidate;
        improved = true;
      }
    });
    from = std::move(best);
  }
}

void Search::run_space(PlanSpace space, Starts&& starts) {
  std::vector<Contender> sorted;
  for (auto& [shape, candidate] : starts) sorted.push_back(std::move(candidate));
  std::ranges::stable_sort(sorted, {}, &Contender::score);
  if (sorted.size() > kClimbs) sorted.resize(kClimbs);
  for (Contender& start : sorted) climb(std::move(start), space);
}

Search::Starts Search::even_starts(PlanSpace space) {
  Starts starts;
  visit_even_seeds(world_, [&](const Draft& draft) { keep_best(starts, draft, space); });
  return starts;
}

// The wider space begins with the answer of the narrower one, so that more freedom never makes a plan worse.
void Search::run(PlanSpace space) {
  run_space(PlanSpace::kPaper, even_starts(PlanSpace::kPaper));
  if (space == PlanSpace::kPaper) return;
  if (best_) climb(*best_, space);
  Starts starts = even_starts(space);
  visit_uneven_seeds(world_, [&](const Draft& draft) { keep_best(starts, draft, space); });
  run_space(space, std::move(starts));
}

}  // namespace sailor
