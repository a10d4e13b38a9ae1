#include "planner/search/rate_search.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include "planner/problem/run_both.h"

namespace sailor {
namespace {

// Rounds that divide the whole range of interesting prices per hour. The best plan of the first one narrows the range.
constexpr int kRoundsOfRange = 2;
constexpr int kRatesOfRange = 6;    // the prices of each of them
constexpr int kRoundsOfBest = 4;    // rounds near the best plan
constexpr int kRatesOfBest = 4;     // the prices of each of them
constexpr double kNearMiss = 0.05;  // a plan that misses a limit by this part may be improved until it keeps it
constexpr std::size_t kMostNearMisses = 4;
constexpr double kSlightly = 1e-9;  // a plan at exactly this price is allowed
// The range ends at this part of the greatest price, also if some GPUs cost nothing.
constexpr double kLeastPart = 1e-3;

class RateSearch {
 public:
  RateSearch(Search& search, PlanSpace space, std::span<const GroupTimeTable> tables)
      : search_(search),
        space_(space),
        tables_(tables),
        goal_(Goal::of(search.problem().job)),
        best_without_limits_(search.problem(), search.limits(), nullptr, goals_of(goal_.figure)),
        best_other_(search.problem(), search.limits(), nullptr,
                    goals_of(goal_.figure == Goal::Figure::kTime ? Goal::Figure::kCost : Goal::Figure::kTime)) {}

  // Searches for the best plan without the limits. If it keeps them, it is the answer.
  bool is_answered_without_limits() {
    best_without_limits_.run(space_, tables_);
    search_.add_answers_of(best_without_limits_);
    const PlanCandidate* best = best_without_limits_.best();
    return best != nullptr && goal_.score_of(best->estimate, best->plan.gpus()).is_feasible();
  }

  // Searches for the best other figure, also without the limits: nearly every limit that can be kept is kept there.
  void search_other_figure() {
    best_other_.run(space_, tables_);
    search_.add_answers_of(best_other_);
  }

  [[nodiscard]] bool has_answer() const { return best_feasible() != nullptr; }

  // Twice the GPUs often take half the time, for nearly the same cost, but costs are no guide from one to the other. So
  // this searches for faster plans among those that cost at most slightly more than the cheapest.
  void search_faster_equals() {
    const PlanCandidate* best = best_feasible();
    if (goal_.figure != Goal::Figure::kCost || best == nullptr) return;
    const double rate = best->estimate.cost_per_hour().value();
    std::vector<double> rates{0};
    if (rate > 0) rates = {1.5 * rate, 2 * rate, 3 * rate, 4 * rate, 6 * rate, 8 * rate};
    search_at(rates);
    search_.polish(space_);
  }

  // Searches between the two figures. Call it after both have been searched.
  void run() {
    const bool has_ends = best_without_limits_.best() != nullptr && best_other_.best() != nullptr;
    // Without a feasible plan not even the plan that keeps the limit best keeps it.
    if (!has_ends || !has_answer()) return;
    double factor = 0;
    for (int round = 0; round < kRoundsOfRange; ++round) {
      const auto [least, most] = interesting_rates();
      if (least >= most) break;
      factor = std::pow(most / least, 1.0 / kRatesOfRange);
      std::vector<double> rates;
      for (int i = 1; i <= kRatesOfRange; ++i) rates.push_back(least * std::pow(factor, i));
      search_at(rates);
    }
    if (factor == 0) return;  // no price per hour lies between the two figures
    search_near_best(factor);
    improve_near_misses();
    improve_at_its_price();
    search_.polish(space_);
  }

 private:
  // Searches at prices from that of the best plan to the next one of the range, as long as this finds a better plan.
  // With a limit on cost the better plan uses more than the best one, and with a limit on time it uses less.
  void search_near_best(double factor) {
    const double towards = goal_.figure == Goal::Figure::kTime ? 1 : -1;
    for (int round = 0; round < kRoundsOfBest; ++round) {
      const Score before = best_feasible()->score;
      const double best = best_feasible()->estimate.cost_per_hour().value();
      std::vector<double> rates;
      for (int i = 1; i <= kRatesOfBest; ++i) rates.push_back(best * std::pow(factor, towards * i / kRatesOfBest));
      search_at(rates);
      if (!(best_feasible()->score < before)) return;
    }
  }

  // Improves the best plan without the limits. If it hardly keeps them, they reject nearly all steps from it.
  void improve_at_its_price() {
    const double rate = best_feasible()->estimate.cost_per_hour().value();
    Search at_price(search_.problem(), search_.limits(), nullptr,
                    goals_of(Goal::Figure::kTime, rate * (1 + kSlightly)));
    at_price.add_answers_of(search_);
    at_price.polish(space_);
    search_.add_answers_of(at_price);
  }

  // Whether the plan of a search nearly keeps the limits, and would be better than the best plan if it kept them.
  [[nodiscard]] bool is_near_miss(const Search& found) const {
    if (found.best() == nullptr || !found.best()->score.is_feasible()) return false;
    const EstimateSummary& estimate = found.best()->estimate;
    const double miss = goal_.misses_of(estimate, found.best()->plan.gpus()).sum();
    return miss > 0 && miss <= kNearMiss && goal_.value_of(estimate) < best_feasible()->score.value;
  }

  // Improves the best of the plans that nearly keep the limits, at a price per hour that is slightly higher.
  void improve_near_misses() {
    std::vector<const Search*> near;
    for (const Search& found : searches_) {
      if (is_near_miss(found)) near.push_back(&found);
    }
    std::ranges::stable_sort(near, {}, [&](const Search* one) { return goal_.value_of(one->best()->estimate); });
    const auto same =
        std::ranges::unique(near, {}, [](const Search* one) -> const GroupedPlan& { return one->best()->plan; });
    near.erase(same.begin(), same.end());
    if (near.size() > kMostNearMisses) near.resize(kMostNearMisses);
    std::deque<Search> improved;
    for (const Search* found : near) {
      const double rate = found->best()->estimate.cost_per_hour().value() * (1 + kNearMiss);
      improved.emplace_back(search_.problem(), search_.limits(), nullptr, goals_of(Goal::Figure::kTime, rate));
      improved.back().add_answers_of(*found);
    }
    run_each(improved.size(), [&](std::size_t i) { improved[i].polish(space_); });
    for (const Search& each : improved) search_.add_answers_of(each);
  }

  [[nodiscard]] const PlanCandidate* best_feasible() const {
    const PlanCandidate* best = search_.best();
    return best != nullptr && best->score.is_feasible() ? best : nullptr;
  }

  // Returns the longest time and the greatest cost of an iteration of a plan that is as good as the best one.
  [[nodiscard]] std::pair<Seconds, Dollars> limits_to_beat() const {
    const EstimateSummary& best = best_feasible()->estimate;
    const bool is_time = goal_.figure == Goal::Figure::kTime;
    return {is_time ? std::min(goal_.longest, best.iteration) : goal_.longest,
            is_time ? goal_.most_cost : std::min(goal_.most_cost, best.cost)};
  }

  // Returns the least and the greatest price per hour of a plan that keeps the limits and may be better than the best
  // one: it costs no less than the cheapest plan and is not faster than the fastest.
  [[nodiscard]] std::pair<double, double> interesting_rates() const {
    const EstimateSummary& one_end = best_without_limits_.best()->estimate;
    const EstimateSummary& other_end = best_other_.best()->estimate;
    const auto [longest, most_cost] = limits_to_beat();
    const Dollars least_cost = std::min(one_end.cost, other_end.cost);
    const Seconds shortest = std::min(one_end.iteration, other_end.iteration);
    const double most = (most_cost / shortest).value();
    return {std::max((least_cost / longest).value(), kLeastPart * most), most};
  }

  // The goals of a search for the best figure below this price per hour, without limits of an iteration.
  [[nodiscard]] SearchGoals goals_of(Goal::Figure figure, double rate = Goal::kUnlimited) const {
    Goal goal = goal_.without_limits_of_iteration();
    goal.figure = figure;
    goal.most_cost_per_hour = std::min(goal.most_cost_per_hour, DollarsPerHour(rate));
    return {goal, goal};
  }

  // Returns about the longest useful iteration at this price per hour that would be an answer as good as the best one.
  [[nodiscard]] Seconds longest_worthwhile(double rate) const {
    const EstimateSummary& best = best_feasible()->estimate;
    auto [longest, most] = limits_to_beat();
    if (rate > 0) longest = std::min(longest, most / DollarsPerHour(rate));
    return longest * (best.useful_iteration() / best.iteration);
  }

  // Searches for the fastest plans below these prices per hour. Seeds from the relaxed problem, which knows no prices
  // per hour, would take a third of the time and change no answer.
  void search_at(const std::vector<double>& rates) {
    const std::size_t first = searches_.size();
    std::vector<Seconds> worthwhile;
    for (const double rate : rates) {
      worthwhile.push_back(longest_worthwhile(rate));
      searches_.emplace_back(search_.problem(), search_.limits(), nullptr,
                             goals_of(Goal::Figure::kTime, rate * (1 + kSlightly)));
    }
    run_each(rates.size(), [&](std::size_t i) {
      if (!search_.limits().is_over()) searches_[first + i].run_against(worthwhile[i].value(), space_, {});
    });
    for (std::size_t i = first; i < searches_.size(); ++i) search_.add_answers_of(searches_[i]);
  }

  Search& search_;
  PlanSpace space_;
  std::span<const GroupTimeTable> tables_;
  Goal goal_;
  Search best_without_limits_;
  Search best_other_;
  std::deque<Search> searches_;  // those at a price per hour
};

}  // namespace

void run_with_limits(Search& search, PlanSpace space, std::span<const GroupTimeTable> tables, Search* nearby) {
  const PlanningProblem& problem = search.problem();
  if (!Breadth::of(problem).searches_rates) {
    search.run(space, tables, nearby);
    return;
  }
  RateSearch rates(search, space, tables);
  const bool has_limits = Goal::of(problem.job).limits_iteration();
  const bool is_answered = has_limits && rates.is_answered_without_limits();
  if (has_limits && !is_answered) rates.search_other_figure();
  // Local search with the limits is slow and far behind the searches by price, so it runs only if it is needed.
  if (!has_limits || !rates.has_answer()) {
    search.run(space, tables, nearby);
  } else if (nearby != nullptr) {
    search.add_nearby(*nearby, space);
  }
  if (has_limits && !is_answered) rates.run();
  rates.search_faster_equals();
}

}  // namespace sailor
