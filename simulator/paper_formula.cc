#include "simulator/paper_formula.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sailor {
namespace {

constexpr double kWorthSaying = 0.1;  // differences up to this part of the time are not mentioned
constexpr double kEffect = 0.01;      // effects below this part of the paper's time are not named

int replicas_of(const StageTiming& stage) {
  int replicas = 0;
  for (const GroupTiming& group : stage.groups) replicas += group.count;
  return replicas;
}

int fewest_replicas(std::span<const StageTiming> stages) {
  int fewest = replicas_of(stages.front());
  for (const StageTiming& stage : stages) fewest = std::min(fewest, replicas_of(stage));
  return fewest;
}

std::string of_passes(Seconds difference, std::span<const StageTiming> stages) {
  const bool same_numbers = std::ranges::all_of(
      stages, [&](const StageTiming& stage) { return replicas_of(stage) == replicas_of(stages.front()); });
  const auto seconds = fmt::format("{:+.3g} s", difference.value());
  if (!same_numbers) {
    return "passes " + seconds + ": the formula gives every stage as many replicas as the one with the fewest";
  }
  if (!has_equal_shares(stages)) {
    return "passes " + seconds + ": the formula gives slow replicas as many microbatches as fast ones";
  }
  if (difference < Seconds(0)) return "passes " + seconds + ": transfers are hidden behind passes";
  return "passes " + seconds + ": messages have latency and go at one GPU's rate, where the formula takes its group's";
}

std::string of_sync(Seconds difference) {
  const auto seconds = fmt::format("{:+.3g} s", difference.value());
  if (difference > Seconds(0)) return "gradients " + seconds + ": each message of the ring has latency";
  return "gradients " + seconds +
         ": they are summed node by node, over all GPUs of a node at once, and while the last backward passes run";
}

}  // namespace

Seconds paper_passes(std::span<const StageTiming> stages, int microbatches) {
  double slowest = 0;
  double sum = 0;
  for (const StageTiming& stage : stages) {
    double pass = 0;
    for (const GroupTiming& group : stage.groups) pass = std::max(pass, group.pass());
    double transfer = 0;
    for (const LinkTiming& link : stage.links) transfer = std::max(transfer, link.occupancy);
    slowest = std::max(slowest, pass + 2 * transfer);
    sum += pass + 2 * transfer;
  }
  const double rounds = std::ceil(static_cast<double>(microbatches) / fewest_replicas(stages));
  return Seconds((rounds - 1) * slowest + sum);
}

PaperComparison compared_with_paper(const TimeBreakdown& ours, const PaperTime& paper,
                                    std::span<const StageTiming> stages) {
  PaperComparison comparison{paper, {}};
  const auto add = [&](Seconds difference, auto describe) {
    if (std::abs(difference / paper.total()) >= kEffect) comparison.effects.push_back(describe(difference));
  };
  add(ours.compute + ours.bubble + ours.point_to_point - paper.passes,
      [&](Seconds difference) { return of_passes(difference, stages); });
  add(ours.gradient_sync - paper.gradient_sync, of_sync);
  return comparison;
}

std::optional<std::string> note_of(const PaperComparison& comparison, Seconds ours) {
  const Seconds total = comparison.paper.total();
  if (std::abs(ours / total - 1) <= kWorthSaying) return std::nullopt;
  return fmt::format("the Sailor paper's formula gives {:.3g} s; {}", total.value(),
                     fmt::join(comparison.effects, "; "));
}

}  // namespace sailor
