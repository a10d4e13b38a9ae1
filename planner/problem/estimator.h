// Estimator: what the planner asks about plans. The planner owns this interface; simulator/ implements it.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include "core/model/estimate.h"
#include "core/model/plan.h"
#include "core/model/profile.h"
#include "core/model/schedule_times.h"
#include "planner/problem/grouped_plan.h"

namespace sailor {

// Layers on one tensor-parallel group of a pool.
struct StageShape {
  LayerRange layers;
  int pool = 0;  // index into ClusterState::pools
  ProfilePoint point;
  bool activation_checkpointing = false;
  int optimizer_shards = 1;  // replicas that share the optimizer's state; 1: each has all of it
};

// What such a group needs, whatever the rest of the plan is.
struct StageCost {
  Seconds forward;   // of one microbatch
  Seconds backward;  // of one microbatch
  Seconds update;
  Bytes fixed_memory;       // per GPU of the group, without activations
  Bytes activation_memory;  // per GPU, for each microbatch in flight
  Bytes capacity;           // per GPU

  [[nodiscard]] Seconds pass() const { return forward + backward; }
  [[nodiscard]] Bytes least_memory() const { return fixed_memory + activation_memory; }
  [[nodiscard]] bool fits() const { return least_memory() <= capacity; }
};

// The figures of an Estimate that the search compares.
struct EstimateSummary {
  Seconds iteration;
  Dollars cost;         // of an iteration: GPUs and traffic
  Bytes memory_excess;  // above the GPU's memory, in the worst stage; zero if the plan fits
};

// Limits of a search that prunes: a plan that reaches one of them is of no interest.
struct Cutoff {
  Seconds iteration{std::numeric_limits<double>::infinity()};
  Dollars cost{std::numeric_limits<double>::infinity()};

  [[nodiscard]] bool is_reached_by(const EstimateSummary& estimate) const {
    return estimate.iteration >= iteration || estimate.cost >= cost;
  }
};

// The shortest and the longest time that a message takes over the links of the cluster.
struct LinkRange {
  Seconds least;
  Seconds most;
};

// A message over one link: it occupies its sender and its receiver for `occupancy` and arrives `latency` later.
struct MessageTime {
  Seconds latency;
  Seconds occupancy;
};

// The part of a gradient reduction that the last backward pass does not hide. The reduction runs bucket by bucket, and
// each bucket starts when the backward pass has left its layers behind.
inline Seconds exposed_reduction(Seconds reduction, Seconds backward, int buckets) {
  return reduction - std::min(reduction, backward) * (1 - 1.0 / buckets);
}

// Answers questions about one job on one cluster from tables that were made once. The job and the cluster must outlive
// it.
class JobEstimator {
 public:
  JobEstimator() = default;
  JobEstimator(const JobEstimator&) = delete;
  JobEstimator& operator=(const JobEstimator&) = delete;
  virtual ~JobEstimator() = default;

  // The figures of Estimator::estimate, in microseconds of computing. Nothing if they certainly reach the cutoff, as
  // those of most plans of a search do. Checks memory only, not whether the pools have enough GPUs.
  [[nodiscard]] virtual std::optional<EstimateSummary> fast_estimate_below(const Cutoff& cutoff,
                                                                           const GroupedPlan& plan) const = 0;
  // The figures of Estimator::simulate, in a microsecond of computing for every ten passes of microbatches. Nothing if
  // they reach the cutoff, as far as the beginning of the step shows.
  [[nodiscard]] virtual std::optional<EstimateSummary> simulated_below(const Cutoff& cutoff,
                                                                       const GroupedPlan& plan) const = 0;
  [[nodiscard]] virtual StageCost stage_cost(const StageShape& shape) const = 0;

  // For the cost of moving from one plan to another: the weights and the optimizer's state of a layer, summed over the
  // GPUs of one replica; and how long a node of one pool takes to send this amount to a node of the other.
  [[nodiscard]] virtual Bytes state_of_layer(int layer) const = 0;
  [[nodiscard]] virtual Seconds transfer(Bytes amount, int from_pool, int to_pool) const = 0;

  // Lower bounds for the proof that no plan is better (docs/planner-bound.md).
  //
  // To sum the gradients of a stage with a group like this one and at least this number of replicas. Grows with the
  // number of replicas and does not depend on the microbatch size.
  [[nodiscard]] virtual Seconds least_reduction(const StageShape& shape, int replicas) const = 0;
  // From the end of the last backward pass of such a stage to its last update, if the gradient sum takes `reduction`
  // and no replica of the stage has a backward pass longer than `longest_backward`.
  [[nodiscard]] virtual Seconds least_finish(const StageShape& shape, Seconds reduction,
                                             Seconds longest_backward) const = 0;
  // The activations of a microbatch, from the last layer of such a group to the next stage. `in_one_node`: all that the
  // plan uses of some pool may be on one node.
  [[nodiscard]] virtual LinkRange link_range(const StageShape& shape, bool in_one_node) const = 0;
  // The same message to a stage on this pool.
  [[nodiscard]] virtual MessageTime least_message(const StageShape& shape, int to_pool, bool in_one_node) const = 0;
};

class Estimator {
 public:
  Estimator() = default;
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;
  virtual ~Estimator() = default;

  // Time, memory and cost of a well-formed plan, by the fast estimate. A plan that does not fit is a result with
  // violations; an error means that the question has no answer (for example, an unknown accelerator).
  [[nodiscard]] virtual Result<Estimate> estimate(const JobSpec& job, const ClusterState& cluster,
                                                  const Plan& plan) const = 0;

  // The same, from a simulation of the step operation by operation. The planner judges its finalists by it.
  [[nodiscard]] virtual Result<Estimate> simulate(const JobSpec& job, const ClusterState& cluster,
                                                  const Plan& plan) const = 0;

  // The times from which the schedule of simulate() is made. Whoever runs the plan must use the same schedule.
  [[nodiscard]] virtual Result<ScheduleTimes> schedule_times(const JobSpec& job, const ClusterState& cluster,
                                                             const Plan& plan) const = 0;

  // Tables for all the job's microbatch sizes and these tensor-parallel sizes.
  [[nodiscard]] virtual Result<std::unique_ptr<JobEstimator>> prepare(
      const JobSpec& job, const ClusterState& cluster, std::span<const int> tensor_parallel_sizes) const = 0;
};

}  // namespace sailor
