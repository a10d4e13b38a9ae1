#include "planner/search/infeasible.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/model/counted.h"
#include "core/model/missed_limit.h"

namespace sailor {
namespace {

Error infeasible(std::string message) { return {ErrorCode::kInfeasible, std::move(message)}; }

// Returns the memory of the GPUs that a plan may use. If it may not use all, counts the largest ones.
Bytes memory_of_gpus(const PlanningProblem& problem) {
  std::vector<std::pair<Bytes, int>> gpus;  // memory of one, and their number
  for (int index = 0; index < problem.pools(); ++index) {
    const ProfilePoint point{problem.job.training.microbatch_sizes.front(), 1};
    const StageShape shape{{0, 1}, index, point, problem.allowed_techniques().front().recomputes, 1};
    gpus.emplace_back(problem.estimator->stage_needs(shape).capacity, problem.pool(index).free_gpus());
  }
  std::ranges::sort(gpus, std::greater<>());
  Bytes sum(0);
  int left = problem.most_gpus();
  for (const auto& [memory, count] : gpus) {
    sum += memory * std::min(left, count);
    left -= std::min(left, count);
  }
  return sum;
}

// Says whether it is proved that no plan fits: every plan holds at least one copy of the state.
std::string why_nothing_fits(const PlanningProblem& problem, const SearchReport& report) {
  Bytes state(0);
  for (int layer = 0; layer < problem.layers(); ++layer) state += problem.estimator->state_of_layer(layer);
  const Bytes memory = memory_of_gpus(problem);
  if (state > memory) {
    return fmt::format(
        "no plan fits in memory: the weights and the optimizer's state of {} take {:.0f} GiB, and the GPUs have {:.0f} "
        "GiB in all; of {} plans tried, the nearest",
        problem.job.model.name, state / gibibytes(1), memory / gibibytes(1), report.candidates);
  }
  return fmt::format("no plan fits in memory, of {} that were tried: the nearest", report.candidates);
}

Error too_little_memory(const PlanningProblem& problem, const PlanCandidate& nearest, const SearchReport& report) {
  return infeasible(
      fmt::format("{}, {} on {} with microbatches of {}, needs {:.2f} GiB more than a GPU has; allow more "
                  "or larger GPUs, smaller microbatches or activationCheckpointing",
                  why_nothing_fits(problem, report), counted(std::ssize(nearest.plan.stages), "stage"),
                  counted(nearest.plan.gpus(), "GPU"), nearest.plan.microbatch_size,
                  nearest.estimate.memory_excess / gibibytes(1)) +
      (problem.tensor_parallel_sizes.size() == 1 ? "" : "; larger nodes help too"));
}

Error beyond_limit(const MissedLimit& missed) {
  const double figure = figure_to_ask_for(missed);
  switch (missed.kind) {
    case MissedLimit::Kind::kCostPerIteration:
      return infeasible(
          fmt::format("no plan costs at most maxCostPerIteration ${:.6g}: the nearest found costs ${:.4g} an "
                      "iteration; raise the limit to that or allow cheaper GPUs",
                      missed.limit, figure));
    case MissedLimit::Kind::kCostPerHour:
      return infeasible(
          fmt::format("no plan costs at most maxCostPerHour ${:.6g}: the nearest found costs ${:.4g} an hour; raise "
                      "the limit to that or allow cheaper GPUs",
                      missed.limit, figure));
    case MissedLimit::Kind::kThroughput:
      break;
  }
  return infeasible(
      fmt::format("no plan reaches minThroughput {:.6g} iterations/s: the fastest found makes {:.4g}; lower it to "
                  "that or allow more GPUs",
                  missed.limit, figure));
}

std::string joined(const std::vector<Accelerator>& names) {
  std::string list;
  for (const Accelerator& name : names) list += (list.empty() ? "" : ", ") + name.str();
  return list;
}

std::string what_was_asked(const ResourceSpec& resources) {
  std::string text;
  if (!resources.accelerators.empty()) {
    text += fmt::format(" of accelerator{} {}", resources.accelerators.size() == 1 ? "" : "s",
                        joined(resources.accelerators));
  }
  if (resources.zones.size() == 1) text += fmt::format(" in zone {} of resources.zones", resources.zones.front().str());
  if (resources.zones.size() > 1) text += fmt::format(" in the {} zones of resources.zones", resources.zones.size());
  if (resources.provisioning == ProvisioningPolicy::kSpot) text += " on spot nodes";
  if (resources.provisioning == ProvisioningPolicy::kOnDemand) text += " on on-demand nodes";
  return text;
}

// Returns kNotFound if the job may use some pools, but the accelerators of all of them are unknown. This does not
// depend on free GPUs: the user has to change something before the job can ever run.
Result<void> check_accelerators(const JobSpec& job, const ClusterState& cluster,
                                const std::vector<std::string>& notes_on_unknown) {
  const auto allowed =
      std::ranges::count_if(cluster.pools, [&](const Pool& pool) { return job.resources.allows(pool.key); });
  if (allowed == 0 || std::ssize(notes_on_unknown) < allowed) return {};
  return fail(ErrorCode::kNotFound, fmt::format("no GPUs are left for the job: {}", fmt::join(notes_on_unknown, "; ")));
}

Result<void> check_free_gpus(const JobSpec& job, const ClusterState& cluster, int available) {
  const int needed = std::max(1, job.resources.min_gpus);
  if (cluster.free_gpus() == 0) {
    return tl::unexpected(
        infeasible(fmt::format("minGpus is {} and no GPU is free for the job; add nodes or wait for some", needed)));
  }
  if (available == 0) {
    return tl::unexpected(
        infeasible(fmt::format("minGpus is {}, and of GPUs{} none is free ({} {}); add nodes or widen "
                               "spec.resources",
                               needed, what_was_asked(job.resources), counted(cluster.free_gpus(), "other"),
                               cluster.free_gpus() == 1 ? "is" : "are")));
  }
  if (available < needed) {
    return tl::unexpected(infeasible(fmt::format(
        "minGpus is {} and {}{} {} free, {} too few; add nodes or lower minGpus", needed, counted(available, "GPU"),
        what_was_asked(job.resources), available == 1 ? "is" : "are", needed - available)));
  }
  return {};
}

}  // namespace

Result<void> check_capacity(const JobSpec& job, const ClusterState& cluster, const ClusterState& usable) {
  const std::vector<std::string> notes_on_unknown = notes_on_unknown_pools(job, cluster);
  if (auto checked = check_accelerators(job, cluster, notes_on_unknown); !checked) return checked;
  if (auto checked = check_free_gpus(job, cluster, usable.free_gpus()); !checked) {
    for (const std::string& note : notes_on_unknown) checked.error().message += "; " + note;
    return checked;
  }
  if (job.resources.max_gpus && *job.resources.max_gpus < job.resources.min_gpus) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("resources.maxGpus {} is below resources.minGpus {}; raise maxGpus or lower minGpus",
                            *job.resources.max_gpus, job.resources.min_gpus));
  }
  return {};
}

Error explain_infeasible(const PlanningProblem& problem, const PlanCandidate* nearest, const SearchReport& report) {
  if (nearest == nullptr) {
    return infeasible(fmt::format("no plan could be made of {} before the planner was stopped; give it more time",
                                  counted(problem.cluster.free_gpus(), "GPU")));
  }
  const EstimateSummary& estimate = nearest->estimate;
  if (estimate.memory_excess > Bytes(0)) return too_little_memory(problem, *nearest, report);
  const auto missed = missed_limit(problem.job.objective, estimate.iteration, estimate.cost);
  if (missed) return beyond_limit(*missed);
  return infeasible(fmt::format("no plan uses minGpus {} GPUs: the nearest uses {}; lower minGpus",
                                problem.job.resources.min_gpus, nearest->plan.gpus()));
}

}  // namespace sailor
