#include "report/compared_plans.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "report/numbers.h"

namespace sailor::report {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

std::string rate_text(double throughput) { return significant(throughput) + " iterations/s"; }

constexpr double kVisible = 5e-4;  // the least difference that is shown

// "12 % faster"; empty if the two are equal.
std::string compared(double ratio, const std::string& more, const std::string& less) {
  if (std::abs(ratio - 1) < kVisible) return "";
  return ratio > 1 ? percent(ratio - 1) + " " + more : percent(1 - ratio) + " " + less;
}

std::set<std::string> accelerators_of(const Estimate& estimate) {
  std::set<std::string> names;
  for (const auto& [pool, gpus] : estimate.gpus) names.insert(pool.accelerator.str());
  return names;
}

// The types of GPUs that the other plan does not use, and those that only it uses.
std::string other_gpus(const Estimate& chosen, const Estimate& other) {
  const auto ours = accelerators_of(chosen);
  const auto theirs = accelerators_of(other);
  std::string text;
  for (const std::string& name : ours) {
    if (!theirs.contains(name)) text += (text.empty() ? "without " : ", ") + name;
  }
  bool is_first = true;
  for (const std::string& name : theirs) {
    if (ours.contains(name)) continue;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", is_first ? "with " : "", name);
    is_first = false;
  }
  return text;
}

struct Comparison {
  std::string faster;   // how much faster or slower; empty: equally fast
  std::string cheaper;  // how much cheaper or more expensive; empty: equally expensive
  bool is_better = false;
};

// Compares the plans with their expected losses.
Comparison comparison(const JobSpec& job, const Estimate& chosen, const Estimate& other) {
  const double losses = loss_factor(job, other.expected_loss) / loss_factor(job, chosen.expected_loss);
  const double speed = other.throughput() / chosen.throughput() / losses;
  const double cost = other.cost_per_iteration() / chosen.cost_per_iteration() * losses;
  const bool seeks_throughput = std::holds_alternative<MaximizeThroughput>(job.objective);
  return {compared(speed, "faster", "slower"), compared(cost, "more expensive", "cheaper"),
          seeks_throughput ? speed > 1 : cost < 1};
}

std::string reason_against(const JobSpec& job, const Estimate& chosen, const Estimate& other, bool is_kept) {
  if (!other.fits()) return other.violations.front();
  if (const std::string limit = broken_limit(job.objective, other); !limit.empty()) return limit;
  const Comparison against = comparison(job, chosen, other);
  const bool seeks_throughput = std::holds_alternative<MaximizeThroughput>(job.objective);
  const std::string& decisive = seeks_throughput ? against.faster : against.cheaper;
  const std::string& besides = seeks_throughput ? against.cheaper : against.faster;
  if (decisive.empty()) return besides.empty() ? "equally good, with more GPUs" : "equally good, but " + besides;
  std::string text = decisive;
  if (!besides.empty()) text += (against.is_better ? ", " : ", but ") + besides;
  if (against.is_better && is_kept) {
    text += fmt::format("; a running job is moved only for a gain of at least {}", percent(kWorthwhileGain));
  }
  if (const std::string gpus = other_gpus(chosen, other); !gpus.empty()) text += "; " + gpus;
  const double lost = other.expected_loss.ratio();
  if (counts_losses(job) && std::abs(lost - chosen.expected_loss.ratio()) >= kVisible) {
    text += fmt::format("; failures of nodes are expected to lengthen training by {}, not {}", percent(lost),
                        percent(chosen.expected_loss.ratio()));
  }
  return text;
}

}  // namespace

std::vector<ComparedPlan> compared_plans(const JobSpec& job, const PlannedJob& planned, const PlanOptions& options) {
  const bool is_kept = options.current && *options.current == planned.plan;
  std::vector<ComparedPlan> all{{planned.plan, planned.estimate, true, ""}};
  for (const EstimatedPlan& other : planned.alternatives) {
    if (other.plan == planned.plan) continue;
    all.push_back({other.plan, other.estimate, false, reason_against(job, planned.estimate, other.estimate, is_kept)});
  }
  std::ranges::stable_sort(all, std::greater<>(), [](const ComparedPlan& plan) { return plan.estimate.throughput(); });
  return all;
}

std::string objective_text(const Objective& objective) {
  return std::visit(
      Overloaded{[](const MaximizeThroughput& most) {
                   std::string text = "the most iterations per second";
                   if (most.max_cost_per_iteration) {
                     text += fmt::format(" for at most {} per iteration", money(most.max_cost_per_iteration->value()));
                   }
                   if (most.max_cost_per_hour) {
                     text += fmt::format("{} at most {} per hour", most.max_cost_per_iteration ? " and" : " for",
                                         money(most.max_cost_per_hour->value()));
                   }
                   return text;
                 },
                 [](const MinimizeCost& least) {
                   std::string text = "the lowest cost per iteration";
                   if (least.min_throughput) {
                     text += fmt::format(" with at least {}", rate_text(*least.min_throughput));
                   }
                   return text;
                 }},
      objective);
}

std::string broken_limit(const Objective& objective, const Estimate& estimate) {
  const auto missed = missed_limit(objective, estimate.iteration, estimate.cost_per_iteration());
  if (!missed) return {};
  switch (missed->kind) {
    case MissedLimit::Kind::kCostPerIteration:
      return fmt::format("{} per iteration, over the limit of {}", money(missed->figure), money(missed->limit));
    case MissedLimit::Kind::kCostPerHour:
      return fmt::format("{} per hour, over the limit of {}", money(missed->figure), money(missed->limit));
    case MissedLimit::Kind::kThroughput:
      break;
  }
  return fmt::format("{}, below the minimum of {}", significant(missed->figure), rate_text(missed->limit));
}

}  // namespace sailor::report
