// Estimator: the interface through which the planner gets the time, memory and cost of plans. The planner owns this
// interface; simulator/ implements it.
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

// One replica of a stage: a range of layers on one tensor-parallel group of a pool.
struct StageShape {
  LayerRange layers;
  int pool = 0;  // index into ClusterState::pools
  ProfilePoint point;
  bool activation_checkpointing = false;
  int optimizer_shards = 1;  // how many replicas share the optimizer's state; 1: each replica has all of it
};

// The time and memory that a replica of such a shape needs. They do not depend on the rest of the plan.
struct StageNeeds {
  Seconds forward;   // the forward pass of one microbatch
  Seconds backward;  // the backward pass of one microbatch
  Seconds update;
  int buckets = 1;          // the parts in which gradients are summed; see exposed_reduction()
  Bytes fixed_memory;       // everything but activations, per GPU
  Bytes activation_memory;  // the activations of one microbatch in flight, per GPU
  Bytes capacity;           // the memory of a GPU

  [[nodiscard]] Seconds pass() const { return forward + backward; }
  [[nodiscard]] Bytes least_memory() const { return fixed_memory + activation_memory; }
  [[nodiscard]] bool fits() const { return least_memory() <= capacity; }
};

// The figures of an Estimate that the search compares.
struct EstimateSummary {
  Seconds iteration;
  Dollars cost;         // the cost of an iteration: GPUs and traffic
  Bytes memory_excess;  // the memory that the fullest stage needs above that of its GPU; zero if the plan fits
  // ExpectedLoss::ratio(). Zero unless the job's redundancy is Auto: with None or Peer, the user has decided how much a
  // job may lose, and plans are compared without it.
  double expected_loss = 0;

  [[nodiscard]] DollarsPerHour cost_per_hour() const { return cost / iteration; }
  // The time and cost of an iteration that is not lost.
  [[nodiscard]] Seconds useful_iteration() const { return iteration * (1 + expected_loss); }
  [[nodiscard]] Dollars useful_cost() const { return cost * (1 + expected_loss); }
};

// Limits for pruning. The search needs no plan that reaches one of them.
struct Cutoff {
  Seconds iteration{std::numeric_limits<double>::infinity()};
  Dollars cost{std::numeric_limits<double>::infinity()};

  [[nodiscard]] bool is_reached_by(const EstimateSummary& estimate) const {
    return estimate.iteration >= iteration || estimate.cost >= cost;
  }
  // Returns the length from which on an iteration reaches the cutoff, on GPUs of this price and with traffic that costs
  // this much.
  [[nodiscard]] Seconds iteration_with(DollarsPerHour gpus, Dollars traffic) const {
    if (gpus <= DollarsPerHour(0)) return iteration;
    return std::min(iteration, (cost - traffic) / gpus);
  }
};

// The times of a message over the fastest and over the slowest link of the cluster.
struct LinkRange {
  Seconds least;
  Seconds most;
};

// The time of a message over one link. The message keeps its sender and its receiver busy for `occupancy`, and arrives
// `latency` later.
struct MessageTime {
  Seconds latency;
  Seconds occupancy;
};

// The part of a gradient reduction that does not overlap with the last backward pass. Gradients are reduced in
// `buckets`; the reduction of a bucket starts when the backward pass has computed the gradients of its layers.
inline Seconds exposed_reduction(Seconds reduction, Seconds backward, int buckets) {
  return reduction - std::min(reduction, backward) * (1 - 1.0 / buckets);
}

// Estimates plans of one job on one cluster, from tables that Estimator::prepare() has computed. The job and the
// cluster must outlive it.
class JobEstimator {
 public:
  JobEstimator() = default;
  JobEstimator(const JobEstimator&) = delete;
  JobEstimator& operator=(const JobEstimator&) = delete;
  virtual ~JobEstimator() = default;

  // Returns the figures of Estimator::estimate(). Takes microseconds. Returns nothing if the figures reach the cutoff,
  // as soon as this is certain; most plans of a search are rejected this way. Checks memory, but not whether the pools
  // have enough GPUs.
  [[nodiscard]] virtual std::optional<EstimateSummary> fast_estimate_below(const Cutoff& cutoff,
                                                                           const GroupedPlan& plan) const = 0;
  // Returns the figures of Estimator::simulate(). Takes a microsecond for every ten passes of microbatches. Returns
  // nothing if the figures reach the cutoff, and stops early if the beginning of the step shows that they will.
  [[nodiscard]] virtual std::optional<EstimateSummary> simulated_below(const Cutoff& cutoff,
                                                                       const GroupedPlan& plan) const = 0;
  [[nodiscard]] virtual StageNeeds stage_needs(const StageShape& shape) const = 0;

  // These two give the cost of moving from one plan to another. state_of_layer() is the size of the weights and the
  // optimizer state of a layer, summed over the GPUs of one replica. transfer() is the time that a node of one pool
  // takes to send an amount of state to a node of the other pool.
  [[nodiscard]] virtual Bytes state_of_layer(int layer) const = 0;
  [[nodiscard]] virtual Seconds transfer(Bytes amount, int from_pool, int to_pool) const = 0;

  // Lower bounds for the proof that no plan is better (docs/planner-bound.md).
  //
  // The time to sum the gradients of a stage that has a group of this shape and at least this number of replicas. It
  // grows with the number of replicas and does not depend on the microbatch size.
  [[nodiscard]] virtual Seconds least_reduction(const StageShape& shape, int replicas) const = 0;
  // The time to send the activations of a microbatch from the last layer of such a group to the next stage.
  // `in_one_node` also allows for the fast links inside a node. The simulator uses these links for a pool if all GPUs
  // that the plan takes from this pool fit on one node.
  [[nodiscard]] virtual LinkRange link_range(const StageShape& shape, bool in_one_node) const = 0;
  // A lower bound on the time of the same message to a stage on pool `to_pool`.
  [[nodiscard]] virtual MessageTime least_message(const StageShape& shape, int to_pool, bool in_one_node) const = 0;
};

class Estimator {
 public:
  Estimator() = default;
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;
  virtual ~Estimator() = default;

  // Returns time, memory and cost of a well-formed plan, by the fast estimate. If a plan does not fit, the result lists
  // violations. An error means that no estimate is possible, for example because an accelerator is unknown.
  [[nodiscard]] virtual Result<Estimate> estimate(const JobSpec& job, const ClusterState& cluster,
                                                  const Plan& plan) const = 0;

  // Returns the same figures from a simulation of the step, operation by operation. The planner uses it to compare its
  // finalists.
  [[nodiscard]] virtual Result<Estimate> simulate(const JobSpec& job, const ClusterState& cluster,
                                                  const Plan& plan) const = 0;

  // Returns the times from which simulate() makes its schedule. The workers must follow the same schedule, so they must
  // get these times.
  [[nodiscard]] virtual Result<ScheduleTimes> schedule_times(const JobSpec& job, const ClusterState& cluster,
                                                             const Plan& plan) const = 0;

  // Computes tables for all microbatch sizes of the job and for these tensor-parallel sizes.
  [[nodiscard]] virtual Result<std::unique_ptr<JobEstimator>> prepare(
      const JobSpec& job, const ClusterState& cluster, std::span<const int> tensor_parallel_sizes) const = 0;
};

}  // namespace sailor
