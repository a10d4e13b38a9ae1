#include "planner/search/rate_search.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include "planner/problem/run_both.h"

namespace sailor {
namespace {

constexpr int kRatesOfRound = 6;    // the prices per hour of the first round
constexpr int kRatesBetween = 4;    // those of each further round
constexpr int kMostRounds = 4;      // further ones
constexpr double kSlightly = 1e-9;  // a plan at exactly this price is allowed
// The prices of the first round end at this part of the greatest one, also if some GPUs cost nothing.
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

  void run() {
    best_other_.run(space_, tables_);
    search_.add_answers_of(best_other_);
    const bool has_ends = best_without_limits_.best() != nullptr && best_other_.best() != nullptr;
    // Without a feasible plan not even the plan that keeps the limit best keeps it.
    if (!has_ends || best_feasible() == nullptr) return;
    const auto [least, most] = interesting_rates();
    if (least >= most) return;
    const double factor = std::pow(most / least, 1.0 / kRatesOfRound);
    std::vector<double> rates;
    for (int i = 1; i <= kRatesOfRound; ++i) rates.push_back(least * std::pow(factor, i));
    search_at(rates);
    approach(factor);
    improve_at_its_price();
    search_.polish(space_);
  }

 private:
  // Searches at prices from that of the best plan to the next one of the first round, as long as this finds a better
  // plan. With a limit on cost the better plan uses more than the best one, and with a limit on time it uses less.
  void approach(double factor) {
    const double towards = goal_.figure == Goal::Figure::kTime ? 1 : -1;
    for (int round = 0; round < kMostRounds; ++round) {
      const Score before = best_feasible()->score;
      const double best = best_feasible()->estimate.cost_per_hour().value();
      std::vector<double> rates;
      for (int i = 1; i <= kRatesBetween; ++i) rates.push_back(best * std::pow(factor, towards * i / kRatesBetween));
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

  [[nodiscard]] const PlanCandidate* best_feasible() const {
    const PlanCandidate* best = search_.best();
    return best != nullptr && best->score.is_feasible() ? best : nullptr;
  }

  // Returns the least and the greatest price per hour of a plan that keeps the limits and may be better than the best
  // one: it costs no less than the cheapest plan and is not faster than the fastest.
  [[nodiscard]] std::pair<double, double> interesting_rates() const {
    const EstimateSummary& best = best_feasible()->estimate;
    const EstimateSummary& one_end = best_without_limits_.best()->estimate;
    const EstimateSummary& other_end = best_other_.best()->estimate;
    const Seconds longest =
        std::min(goal_.longest, goal_.figure == Goal::Figure::kTime ? best.iteration : Seconds(Goal::kUnlimited));
    const Dollars most_cost =
        std::min(goal_.most_cost, goal_.figure == Goal::Figure::kCost ? best.cost : Dollars(Goal::kUnlimited));
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

  // Searches for the fastest plans below these prices per hour.
  void search_at(const std::vector<double>& rates) {
    std::deque<Search> searches;
    for (const double rate : rates) {
      searches.emplace_back(search_.problem(), search_.limits(), nullptr,
                            goals_of(Goal::Figure::kTime, rate * (1 + kSlightly)));
    }
    run_each(searches.size(), [&](std::size_t i) {
      if (!search_.limits().is_over()) searches[i].run(space_, tables_);
    });
    for (const Search& each : searches) search_.add_answers_of(each);
  }

  Search& search_;
  PlanSpace space_;
  std::span<const GroupTimeTable> tables_;
  Goal goal_;
  Search best_without_limits_;
  Search best_other_;
};

}  // namespace

void run_with_limits(Search& search, PlanSpace space, std::span<const GroupTimeTable> tables, Search* nearby) {
  const PlanningProblem& problem = search.problem();
  if (!Breadth::of(problem).searches_rates) {
    search.run(space, tables, nearby);
    return;
  }
  RateSearch rates(search, space, tables);
  if (!Goal::of(problem.job).limits_iteration()) {
    search.run(space, tables, nearby);
  } else if (rates.is_answered_without_limits()) {
    if (nearby != nullptr) search.add_nearby(*nearby, space);
  } else {
    search.run(space, tables, nearby);
    rates.run();
  }
  rates.search_faster_equals();
}

}  // namespace sailor
