#include "planner/search/search.h"

#include <algorithm>
#include <cmath>

#include "planner/replan/repair.h"
#include "planner/search/exhaustive_search.h"
#include "planner/search/neighbours.h"
#include "planner/search/seeds.h"
#include "planner/search/relaxation_seeds.h"

namespace sailor {
namespace {

// The starts that local search climbs from, and the candidates that it may price: work is counted in steps, so that
// the answer does not depend on the machine's speed.
constexpr std::size_t kClimbs = 5;
constexpr long kClimbCandidates = 800;
constexpr long kRepairCandidates = 400;
constexpr std::size_t kPlayedNeighbours = 4;  // of a stage
// Of microbatches through stages, there and back, that are played of all plans together: less than a microsecond each.
constexpr long kPassesOfRepair = 60'000;
constexpr long kPassesOfPaper = 80'000;
constexpr long kPassesOfFlow = 350'000;
constexpr int kFewGpus = 12;  // of a world that is small enough to look at everything
constexpr long kExhaustiveSteps = 400'000;
constexpr double kStartSlack = 1.25;  // a start may be so much slower than the best plan and still lead to a better one

// What any better plan has less of. Before there is a feasible plan, whatever comes nearer to one is better.
double value_to_beat(const Score& score) {
  if (!score.is_feasible()) return kNoRival;
  return score.value;
}

// Plans that are as good may be better in what comes next: GPUs, then state to move.
double just_above(double value) { return std::nextafter(value, kNoRival); }

}  // namespace

bool SearchLimits::is_over() const {
  return stop.stop_requested() || (deadline && std::chrono::steady_clock::now() >= *deadline);
}

bool Search::is_hopeless(Seconds least, DollarsPerHour price, double rival) {
  const bool seeks_throughput = std::holds_alternative<MaximizeThroughput>(world_.job.objective);
  if ((seeks_throughput ? least.value() : (price * least).value()) < rival) return false;
  ++report_.pruned_by_bound;
  return true;
}

// By the work of the busiest replica alone.
bool Search::is_hopeless(const Draft& draft, double rival) {
  return rival != kNoRival && is_hopeless(Seconds(least_seconds(draft, world_)), gpu_price(draft, world_), rival);
}

std::optional<Contender> Search::priced(const Draft& draft, PlanSpace space, double rival) {
  if (is_hopeless(draft, rival)) return std::nullopt;
  auto plan = dealt(draft, world_, space);
  if (!plan) return std::nullopt;
  return weighed(draft, *std::move(plan), rival);
}

std::optional<Contender> Search::weighed(const Draft& draft, GroupedPlan plan, double rival) {
  if (!keeps_to_resources(plan, world_)) return std::nullopt;
  const Ceiling ceiling = rival == kNoRival ? Ceiling{} : ceiling_of(rival, world_.job);
  const std::optional<Quote> quote = world_.costs->quote_below(ceiling, plan);
  if (!quote) {
    ++report_.pruned_by_bound;
    return std::nullopt;
  }
  ++report_.candidates;
  if (quote->memory_excess > Bytes(0)) ++report_.pruned_by_memory;
  const Score score = score_of(*quote, plan.gpus(), world_.job);
  Contender candidate{draft, std::move(plan), *quote, score};
  if (score.is_feasible()) {
    front_.offer(candidate.plan, *quote);
    note_finalist(candidate);
  }
  if (!best_ || is_better(candidate, *best_)) best_ = candidate;
  const bool fits = quote->memory_excess <= Bytes(0);
  if (fits && (!best_that_fits_ || score < best_that_fits_->score)) best_that_fits_ = candidate;
  return candidate;
}

bool Search::is_better(const Contender& candidate, const Contender& other) const {
  if (candidate.score != other.score) return candidate.score < other.score;
  if (moving_ != nullptr) {
    const Bytes moved = moving_->to_move(candidate.plan);
    const Bytes least = moving_->to_move(other.plan);
    if (moved != least) return moved < least;
  }
  return candidate.plan < other.plan;
}

std::optional<Contender> Search::offer(const GroupedPlan& plan) {
  auto candidate = weighed(draft_of(plan), plan, kNoRival);
  return candidate && candidate->score.is_feasible() ? candidate : std::nullopt;
}

// What a start of this shape has to be better than.
double Search::rival_of_start(const Starts& starts, const std::pair<int, std::size_t>& shape) const {
  const double rival = best_ ? value_to_beat(best_->score) * kStartSlack : kNoRival;
  const auto found = starts.find(shape);
  return found == starts.end() ? rival : std::min(rival, value_to_beat(found->second.score));
}

void Search::keep_best(Starts& starts, const Draft& draft, PlanSpace space) {
  if (limits_.is_over() && best_) return;
  const std::pair shape{draft.microbatch_size, draft.stages.size()};
  auto candidate = priced(draft, space, rival_of_start(starts, shape));
  if (!candidate) return;
  const auto [found, is_new] = starts.try_emplace(shape, *candidate);
  if (!is_new && candidate->score < found->second.score) found->second = *std::move(candidate);
}

// The best change of one stage after the other, until no stage has any that makes the plan better.
void Search::climb(Contender from, PlanSpace space, long most_candidates) {
  const long last_candidate = report_.candidates + most_candidates;
  int stage = 0;
  for (int unchanged = 0; unchanged < std::ssize(from.draft.stages); ++stage) {
    if (report_.candidates >= last_candidate || limits_.is_over()) return;
    stage %= static_cast<int>(from.draft.stages.size());
    std::optional<Contender> best;
    visit_neighbours(from.draft, stage, world_, space, [&](const Draft& next) {
      const Score& rival = best ? best->score : from.score;
      auto candidate = priced(next, space, value_to_beat(rival));
      if (candidate && candidate->score < rival) best = *std::move(candidate);
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
  for (Contender& start : sorted) climb(std::move(start), space, kClimbCandidates);
}

// A shared optimizer makes room and changes little else: where there are plans without, the best is start enough.
bool Search::starts_from_best(PlanSpace space) {
  if (!world_.savings.shards_optimizer || !best_ || !best_->score.is_feasible()) return false;
  if (auto start = priced(best_->draft, space, kNoRival)) climb(*std::move(start), space, kClimbCandidates);
  return true;
}

void Search::run_paper(Starts& starts) {
  if (starts_from_best(PlanSpace::kPaper)) return;
  const auto is_known_hopeless = [&](const EvenOutlook& outlook) {
    const double rival = rival_of_start(starts, {outlook.microbatch_size, static_cast<std::size_t>(outlook.stages)});
    return rival != kNoRival && is_hopeless(Seconds(outlook.seconds), outlook.price, rival);
  };
  visit_even_seeds(world_, is_known_hopeless, [&](const Draft& draft) { keep_best(starts, draft, PlanSpace::kPaper); });
  run_space(PlanSpace::kPaper, starts);
}

void Search::run_flow(Starts& starts, std::span<const KindTable> tables) {
  if (starts_from_best(PlanSpace::kFlow)) return;
  if (best_) climb(*best_, PlanSpace::kFlow, kClimbCandidates);
  const auto keep = [&](const Draft& draft) { keep_best(starts, draft, PlanSpace::kFlow); };
  visit_uneven_seeds(world_, keep);
  if (best_) visit_split_seeds(world_, tables, best_->quote.iteration.value(), keep);
  run_space(PlanSpace::kFlow, starts);
}

// The wider space begins with the answer of the narrower one, so that more freedom never makes a plan worse.
void Search::run(PlanSpace space, std::span<const KindTable> tables) {
  const std::vector<MemorySavings> allowed = world_.allowed_savings();
  std::vector<Starts> starts(allowed.size());
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    world_.savings = allowed[i];
    run_paper(starts[i]);
  }
  settle(PlanSpace::kPaper, kPassesOfPaper);
  exhaust(PlanSpace::kPaper);
  if (space == PlanSpace::kPaper) return;
  const std::optional<Contender> narrow = best_;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    world_.savings = allowed[i];
    run_flow(starts[i], tables);
  }
  settle(PlanSpace::kFlow, kPassesOfFlow);
  exhaust(PlanSpace::kFlow);
  if (narrow && is_better(*narrow, *best_)) best_ = narrow;
}

void Search::repair(const Plan& running, PlanSpace space) {
  world_.savings = {running.activation_checkpointing, running.sharded_optimizer};
  for (const Draft& draft : repairs(what_is_left(running, world_))) {
    if (auto start = priced(draft, space, kNoRival)) climb(*std::move(start), space, kRepairCandidates);
  }
  settle(space, kPassesOfRepair);
}

void Search::note_finalist(const Contender& candidate) {
  const GroupedPlan& plan = candidate.plan;
  const FinalistShape shape{plan.microbatch_size, plan.stages.size(), has_equal_shares(plan),
                            plan.activation_checkpointing, plan.sharded_optimizer};
  const auto [found, is_new] = finalists_.try_emplace(shape, candidate);
  if (!is_new && is_better(candidate, found->second)) found->second = candidate;
}

// The best of those with equal shares first, as their quotes are nearly right; then whatever may be better than it.
// What will be shown as an alternative is among them, so that none turns out better than the answer.
std::vector<Contender> Search::finalists() const {
  std::vector<Contender> sorted;
  for (const auto& [shape, candidate] : finalists_) sorted.push_back(candidate);
  for (const auto& [plan, quote] : front_.chosen(kAlternatives)) {
    if (std::ranges::find(sorted, plan, &Contender::plan) != sorted.end()) continue;
    sorted.push_back({draft_of(plan), plan, quote, score_of(quote, plan.gpus(), world_.job)});
  }
  std::ranges::stable_sort(sorted, {}, &Contender::score);
  const auto equal =
      std::ranges::find_if(sorted, [](const Contender& candidate) { return has_equal_shares(candidate.plan); });
  if (equal != sorted.end()) std::rotate(sorted.begin(), equal, equal + 1);
  return sorted;
}

std::optional<Contender> Search::played(Contender candidate, double rival) {
  passes_left_ -= 2L * candidate.plan.microbatches * std::ssize(candidate.plan.stages);
  const Ceiling ceiling = rival == kNoRival ? Ceiling{} : ceiling_of(just_above(rival), world_.job);
  const auto quote = world_.costs->played_below(ceiling, candidate.plan);
  if (!quote) return std::nullopt;
  candidate.quote = *quote;
  candidate.score = score_of(*quote, candidate.plan.gpus(), world_.job);
  return candidate;
}

void Search::settle(PlanSpace space, long most_passes) {
  passes_left_ = most_passes;
  std::optional<Contender> best;
  for (const Contender& candidate : finalists()) {
    const bool is_last = passes_left_ <= 0 || limits_.is_over();
    if (best && best->score.is_feasible() && (is_last || best->score.value <= candidate.score.value)) continue;
    auto next = played(candidate, best ? value_to_beat(best->score) : kNoRival);
    if (next && (!best || is_better(*next, *best))) best = *std::move(next);
  }
  if (!best) return;
  best_ = best->score.is_feasible() ? polished(*std::move(best), space) : *std::move(best);
}

void Search::exhaust(PlanSpace space) {
  if (world_.most_gpus() > kFewGpus || world_.is_memory_ignored) return;
  const auto rival = [&] { return best_ ? value_to_beat(best_->score) : kNoRival; };
  const auto ceiling = [&] { return ceiling_of(just_above(rival()), world_.job); };
  const auto show = [&](const GroupedPlan& plan) {
    const auto quote = limits_.is_over() ? std::nullopt : world_.costs->quote_below(ceiling(), plan);
    if (!quote || quote->memory_excess > Bytes(0)) return ceiling();
    const auto candidate = played({draft_of(plan), plan, *quote, {}}, rival());
    if (candidate && candidate->score.is_feasible() && (!best_ || is_better(*candidate, *best_))) best_ = *candidate;
    return ceiling();
  };
  long steps = kExhaustiveSteps;
  for (const MemorySavings& savings : world_.allowed_savings()) {
    world_.savings = savings;
    steps = Exhaustive(world_, space, ceiling(), show).run(steps);
  }
}

// The neighbours of one stage that could be better, the likeliest first.
std::vector<Contender> Search::promising_neighbours(const Contender& of, int stage, PlanSpace space) {
  std::vector<Contender> found;
  visit_neighbours(of.draft, stage, world_, space, [&](const Draft& next) {
    auto candidate = priced(next, space, of.score.value);
    if (candidate && candidate->score.is_feasible()) found.push_back(*std::move(candidate));
  });
  std::ranges::stable_sort(found, {}, &Contender::score);
  if (found.size() > kPlayedNeighbours) found.erase(found.begin() + kPlayedNeighbours, found.end());
  return found;
}

Contender Search::polished(Contender from, PlanSpace space) {
  world_.savings = {from.plan.activation_checkpointing, from.plan.sharded_optimizer};
  int stage = 0;
  for (int unchanged = 0; unchanged < std::ssize(from.draft.stages); ++stage, ++unchanged) {
    stage %= static_cast<int>(from.draft.stages.size());
    const Contender before = from;
    for (const Contender& next : promising_neighbours(before, stage, space)) {
      if (passes_left_ <= 0 || limits_.is_over()) return from;
      auto candidate = played(next, value_to_beat(from.score));
      if (!candidate || !is_better(*candidate, from)) continue;
      from = *std::move(candidate);
      unchanged = -1;
    }
  }
  return from;
}

}  // namespace sailor
