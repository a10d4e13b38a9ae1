// Simulator: the entry point of this folder. Estimates plans from measured profiles if there are any, and else from
// data sheets.
#pragma once

#include "core/model/execution_model.h"
#include "core/model/network_model.h"
#include "core/schedule/schedule.h"
#include "planner/problem/estimator.h"
#include "simulator/step_timing.h"

namespace sailor {

class JobSimulation;
struct PlanDetails;  // plan_details.h

class Simulator final : public Estimator {
 public:
  explicit Simulator(ProfileBook profiles = {}, NetworkModel network = google_cloud_network(),
                     ExecutionModel execution = trainer_execution_model())
      : profiles_(std::move(profiles)), network_(std::move(network)), execution_(std::move(execution)) {}

  [[nodiscard]] const ExecutionModel& execution() const { return execution_; }

  [[nodiscard]] Result<Estimate> estimate(const JobSpec& job, const ClusterState& cluster,
                                          const Plan& plan) const override;
  // Times the step operation by operation, as step_timing() shows it; estimate() approximates it in microseconds. Where
  // the result is far from the Sailor paper's formula, a note names the effects.
  [[nodiscard]] Result<Estimate> simulate(const JobSpec& job, const ClusterState& cluster,
                                          const Plan& plan) const override;
  [[nodiscard]] Result<ScheduleTimes> schedule_times(const JobSpec& job, const ClusterState& cluster,
                                                     const Plan& plan) const override;
  // Returns the start and the end of every operation of a step. The plan must be well-formed, and the cluster must have
  // its pools.
  [[nodiscard]] Result<StepTiming> step_timing(const JobSpec& job, const ClusterState& cluster, const Plan& plan) const;
  // Returns the execution model, and simulates the plan with slower sums of gradients and with slower messages.
  [[nodiscard]] Result<EstimateBasis> basis_of(const JobSpec& job, const ClusterState& cluster, const Plan& plan) const;
  // Returns the items that simulate() sums up, and the result of step_timing(). The plan must meet the same conditions.
  [[nodiscard]] Result<PlanDetails> details(const JobSpec& job, const ClusterState& cluster, const Plan& plan) const;
  [[nodiscard]] Result<std::unique_ptr<JobEstimator>> prepare(
      const JobSpec& job, const ClusterState& cluster, std::span<const int> tensor_parallel_sizes) const override;

 private:
  struct PlanSimulation {
    GroupedPlan groups;
    std::unique_ptr<JobSimulation> simulation;
  };
  [[nodiscard]] Result<PlanSimulation> simulation_of(const JobSpec& job, const ClusterState& cluster, const Plan& plan,
                                                     const ExecutionModel& execution) const;

  ProfileBook profiles_;
  NetworkModel network_;
  ExecutionModel execution_;
};

}  // namespace sailor
