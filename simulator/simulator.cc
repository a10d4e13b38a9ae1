#include "simulator/simulator.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "planner/problem/planning_problem.h"
#include "simulator/job_simulation.h"
#include "simulator/plan_details.h"

namespace sailor {
namespace {

double gib(Bytes amount) { return amount / gibibytes(1); }

void add_memory_violations(const SimulationResult& result, const JobSimulation& simulation, Estimate& estimate) {
  for (std::size_t stage = 0; stage < result.memory.size(); ++stage) {
    const StageMemory& memory = result.memory[stage];
    if (memory.excess() <= Bytes(0)) continue;
    const AcceleratorSpec& accelerator = simulation.tables().accelerator(memory.pool);
    estimate.violations.push_back(
        fmt::format("stage {}: needs {:.1f} GiB of memory on {}, where plans may use {:.1f} of {:.1f} GiB", stage,
                    gib(memory.use.total()), accelerator.name.str(), gib(memory.capacity), gib(accelerator.memory)));
  }
}

void add_notes(const GroupedPlan& plan, const JobSimulation& simulation, Estimate& estimate) {
  std::set<std::string> notes;
  for (const GroupedStage& stage : plan.stages) {
    for (const ReplicaGroup& group : stage.groups) {
      const ProfilePoint point{plan.microbatch_size, group.tensor_parallel};
      const std::string& note = simulation.tables().needs(group.pool, point, plan.techniques.recomputes).provenance();
      if (!note.empty()) notes.insert(note);
    }
  }
  estimate.notes.assign(notes.begin(), notes.end());
}

Estimate described(const SimulationResult& result, const JobSpec& job, const Plan& plan) {
  Estimate estimate{.iteration = result.iteration,
                    .time = result.time,
                    .memory = {},
                    .gpu_cost_per_iteration = result.gpu_cost,
                    .traffic_cost_per_iteration = result.traffic_cost,
                    .cost_per_hour = {},
                    .expected_loss = {},
                    .gpus = gpus_by_pool(plan),
                    .violations = {},
                    .notes = {}};
  for (const StageMemory& stage : result.memory) estimate.memory.push_back(stage.use);
  estimate.cost_per_hour = estimate.cost_per_iteration() / result.iteration;
  estimate.tokens_per_second =
      static_cast<double>(job.training.global_batch_size) * job.training.sequence_length / result.iteration.value();
  return estimate;
}

std::vector<int> tensor_parallel_sizes_of(const GroupedPlan& plan) {
  std::set<int> tensor_parallel_sizes;
  for (const GroupedStage& stage : plan.stages) {
    for (const ReplicaGroup& group : stage.groups) tensor_parallel_sizes.insert(group.tensor_parallel);
  }
  return {tensor_parallel_sizes.begin(), tensor_parallel_sizes.end()};
}

Estimate estimate_of(const SimulationResult& result, const JobSimulation& simulation, const Plan& plan,
                     const GroupedPlan& groups) {
  Estimate estimate = described(result, simulation.job(), plan);
  estimate.expected_loss = simulation.loss_of(groups, result.iteration);
  estimate.violations = resource_violations(plan, simulation.job(), simulation.cluster());
  add_memory_violations(result, simulation, estimate);
  add_notes(groups, simulation, estimate);
  if (plan.activation_checkpointing) {
    estimate.notes.emplace_back("activations are computed again in the backward pass: only regions' inputs are kept");
  }
  if (plan.sharded_optimizer) {
    estimate.notes.emplace_back("the replicas of a stage share its optimizer's state");
  }
  if (plan.sequence_parallelism) {
    estimate.notes.emplace_back(
        "groups split the tokens over their GPUs outside their linear layers (sequence parallelism)");
  }
  if (auto note = simulation.note_of_peer_replicas(groups)) estimate.notes.push_back(*std::move(note));
  std::ranges::move(notes_on_unknown_pools(simulation.job(), simulation.cluster()), std::back_inserter(estimate.notes));
  return estimate;
}

// Refuses steps with so many operations that their lists would fill the memory of this machine.
Result<void> check_length(const Plan& plan) {
  constexpr std::int64_t kMost = 1 << 24;
  const auto passes = static_cast<std::int64_t>(plan.stages.size()) * plan.microbatches();
  if (passes <= kMost) return {};
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("plan.microbatchSize: {} makes {} microbatches of a step, {} passes in {} stages, where {} can "
                  "be scheduled; make microbatches larger",
                  plan.microbatch_size, plan.microbatches(), passes, plan.stages.size(), kMost));
}

std::string note_of_long_step(const GroupedPlan& plan) {
  return fmt::format(
      "a step has {} microbatches in {} stages, too many to simulate one by one: its time follows from its beginning",
      plan.microbatches, plan.stages.size());
}

}  // namespace

Result<Simulator::PlanSimulation> Simulator::simulation_of(const JobSpec& job, const ClusterState& cluster,
                                                           const Plan& plan, const ExecutionModel& execution) const {
  if (auto checked = check_well_formed(plan, job); !checked) return tl::unexpected(std::move(checked.error()));
  if (auto checked = check_length(plan); !checked) return tl::unexpected(std::move(checked.error()));
  auto groups = grouped(plan, cluster);
  if (!groups) return tl::unexpected(groups.error());
  const std::vector<int> microbatch_sizes{plan.microbatch_size};
  const std::vector<int> tensor_parallel_sizes = tensor_parallel_sizes_of(*groups);
  auto tables = JobTables::make(job, cluster, profiles_, {microbatch_sizes, tensor_parallel_sizes, execution});
  if (!tables) return tl::unexpected(std::move(tables.error()));
  return PlanSimulation{*std::move(groups),
                        std::make_unique<JobSimulation>(job, cluster, network_, *std::move(tables), execution)};
}

Result<Estimate> Simulator::estimate(const JobSpec& job, const ClusterState& cluster, const Plan& plan) const {
  return simulation_of(job, cluster, plan, execution_).map([&](const PlanSimulation& one) {
    return estimate_of(one.simulation->simulate(one.groups), *one.simulation, plan, one.groups);
  });
}

Result<Estimate> Simulator::simulate(const JobSpec& job, const ClusterState& cluster, const Plan& plan) const {
  return simulation_of(job, cluster, plan, execution_).map([&](const PlanSimulation& one) {
    Estimate estimate =
        estimate_of(one.simulation->simulate_operations(plan, one.groups), *one.simulation, plan, one.groups);
    if (JobSimulation::is_too_long(one.groups)) estimate.notes.push_back(note_of_long_step(one.groups));
    const PaperComparison comparison = one.simulation->compared_with_paper(estimate.time, one.groups);
    if (auto note = note_of(comparison, estimate.iteration)) estimate.notes.push_back(*std::move(note));
    return estimate;
  });
}

// The paper's formula has no such parameters, so its assumptions are simulated operation by operation.
Result<EstimateBasis> Simulator::basis_of(const JobSpec& job, const ClusterState& cluster, const Plan& plan) const {
  constexpr double kSlower = 1.5;
  const auto iteration = [&](double sums, double messages) {
    ExecutionModel slower = execution_;
    slower.uses_paper_formula = false;
    slower.sum_share /= sums;
    slower.message_share /= messages;
    slower.message_latency = slower.message_latency * messages;
    const auto one = simulation_of(job, cluster, plan, slower);
    return one.map([&](const PlanSimulation& it) {
      return it.simulation->simulate_operations(plan, it.groups).iteration.value();
    });
  };
  const Result<double> usual = iteration(1, 1);
  if (!usual) return tl::unexpected(usual.error());
  const Sensitivity sensitivity{1 - *usual / iteration(kSlower, 1).value(), 1 - *usual / iteration(1, kSlower).value()};
  return EstimateBasis{execution_, sensitivity};
}

Result<ScheduleTimes> Simulator::schedule_times(const JobSpec& job, const ClusterState& cluster,
                                                const Plan& plan) const {
  return simulation_of(job, cluster, plan, execution_).map([&](const PlanSimulation& one) {
    return one.simulation->schedule_times(plan, one.groups);
  });
}

Result<StepTiming> Simulator::step_timing(const JobSpec& job, const ClusterState& cluster, const Plan& plan) const {
  return simulation_of(job, cluster, plan, execution_).map([&](const PlanSimulation& one) {
    return one.simulation->step_timing(plan, one.groups);
  });
}

Result<PlanDetails> Simulator::details(const JobSpec& job, const ClusterState& cluster, const Plan& plan) const {
  return simulation_of(job, cluster, plan, execution_).map([&](const PlanSimulation& one) {
    return details_of(*one.simulation, plan, one.groups);
  });
}

Result<std::unique_ptr<JobEstimator>> Simulator::prepare(const JobSpec& job, const ClusterState& cluster,
                                                         std::span<const int> tensor_parallel_sizes) const {
  auto tables =
      JobTables::make(job, cluster, profiles_, {job.training.microbatch_sizes, tensor_parallel_sizes, execution_});
  if (!tables) return tl::unexpected(std::move(tables.error()));
  return std::make_unique<JobSimulation>(job, cluster, network_, *std::move(tables), execution_);
}

}  // namespace sailor
