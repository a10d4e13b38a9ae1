#include "report/gantt_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/numbers.h"

namespace sailor::report {
namespace {

constexpr long kMaxReplicas = 16;
constexpr std::size_t kMaxGroups = 72;

Nanoseconds busy(const PlanView& view, std::size_t stage, std::size_t replica) {
  Nanoseconds sum{};
  for (const TimedPass& pass : view.details.step.passes[stage][replica]) sum += pass.end - pass.start;
  return sum;
}

GanttRow row_of(const PlanView& view, const SimilarReplicas& group) {
  const Stage& stage = view.plan.stages[group.stage];
  const Replica& replica = stage.replicas[group.replicas.front()];
  return {group.stage, group.replicas.front(),
          fmt::format("{} · {} x {} {}", group.stage, counted(static_cast<long>(group.replicas.size())),
                      replica.tensor_parallel, replica.pool.accelerator.str()),
          fmt::format("stage {} (layers {}): {}, of {}", group.stage, layers_text(stage),
                      similar_text(view.plan, group), counted(view.plan.microbatches()))};
}

std::vector<GanttRow> rows_of_replicas(const PlanView& view) {
  std::vector<GanttRow> rows;
  for (std::size_t stage = 0; stage < view.plan.stages.size(); ++stage) {
    for (std::size_t r = 0; r < view.plan.stages[stage].replicas.size(); ++r) {
      GanttRow row = row_of(view, {stage, {r}});
      const Replica& replica = view.plan.stages[stage].replicas[r];
      row.label = fmt::format("{} · no. {}: {} {}", stage, r, replica.tensor_parallel, replica.pool.accelerator.str());
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

// The group whose replicas are busy the longest. It limits the speed of the stage.
SimilarReplicas busiest(const PlanView& view, const std::vector<SimilarReplicas>& groups) {
  return *std::ranges::max_element(
      groups, {}, [&](const SimilarReplicas& group) { return busy(view, group.stage, group.replicas.front()); });
}

}  // namespace

GanttRows gantt_rows(const PlanView& view) {
  long replicas = 0;
  std::vector<std::vector<SimilarReplicas>> stages;
  std::size_t groups = 0;
  for (std::size_t stage = 0; stage < view.plan.stages.size(); ++stage) {
    replicas += static_cast<long>(view.plan.stages[stage].replicas.size());
    groups += stages.emplace_back(similar_replicas(view.plan, stage)).size();
  }
  if (replicas <= kMaxReplicas) return {rows_of_replicas(view), true, "Each row is a replica."};
  GanttRows result;
  for (const auto& alike : stages) {
    if (groups > kMaxGroups) {
      result.rows.push_back(row_of(view, busiest(view, alike)));
    } else {
      for (const SimilarReplicas& group : alike) result.rows.push_back(row_of(view, group));
    }
  }
  result.note = groups > kMaxGroups
                    ? fmt::format("Each row shows one replica of the busiest kind in its stage: {} of {} replicas.",
                                  result.rows.size(), counted(replicas))
                    : fmt::format("Each row shows one of several similar replicas: {} of {}.", result.rows.size(),
                                  counted(replicas));
  return result;
}

}  // namespace sailor::report
