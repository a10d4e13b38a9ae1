// Simulator: the front door. Estimates plans from measured profiles where there are some, else from data sheets.
#pragma once

#include "core/model/network_model.h"
#include "core/schedule/caps.h"
#include "core/schedule/schedule.h"
#include "planner/problem/estimator.h"
#include "simulator/step_timing.h"

namespace sailor {

class JobSimulation;
struct PlanDetails;  // plan_details.h

class Simulator final : public Estimator {
 public:
  explicit Simulator(ProfileBook profiles = {}, NetworkModel network = google_cloud_network(),
                     SchedulePolicy policy = SchedulePolicy::kFlow)
      : profiles_(std::move(profiles)), network_(std::move(network)), policy_(policy) {}

  [[nodiscard]] Result<Estimate> estimate(const JobSpec& job, const ClusterState& cluster,
                                          const Plan& plan) const override;
  // Timed operation by operation, as play() shows it: what estimate() comes close to in microseconds. A note names the
  // effects where it is far from the Sailor paper's formula.
  [[nodiscard]] Result<Estimate> simulate(const JobSpec& job, const ClusterState& cluster,
                                          const Plan& plan) const override;
  [[nodiscard]] Result<ScheduleTimes> schedule_times(const JobSpec& job, const ClusterState& cluster,
                                                     const Plan& plan) const override;
  // What every replica does when, operation by operation. Of a well-formed plan of pools that the cluster has.
  [[nodiscard]] Result<StepTiming> step_timing(const JobSpec& job, const ClusterState& cluster, const Plan& plan) const;
  // What simulate() sums up, item by item, with what `play` says. Of the same plans.
  [[nodiscard]] Result<PlanDetails> details(const JobSpec& job, const ClusterState& cluster, const Plan& plan) const;
  [[nodiscard]] Result<std::unique_ptr<JobEstimator>> prepare(
      const JobSpec& job, const ClusterState& cluster, std::span<const int> tensor_parallel_sizes) const override;

 private:
  struct Question {
    GroupedPlan groups;
    std::unique_ptr<JobSimulation> simulation;
  };
  [[nodiscard]] Result<Question> question_of(const JobSpec& job, const ClusterState& cluster, const Plan& plan) const;

  ProfileBook profiles_;
  NetworkModel network_;
  SchedulePolicy policy_;
};

}  // namespace sailor
