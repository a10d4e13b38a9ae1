// Estimator: what the search needs to know of a plan. Owned by the planner, fulfilled by the simulator.
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

// Consecutive layers on one tensor-parallel group of a pool.
struct StageShape {
  int first_layer = 0;
  int last_layer = 0;
  int pool = 0;  // index into ClusterState::pools
  ProfilePoint point;
  bool activation_checkpointing = false;
  int optimizer_shards = 1;  // replicas that share the optimizer's state; 1: each has all of it
};

// What such a group needs, whatever the rest of the plan is.
struct StageCost {
  Seconds forward;   // one microbatch
  Seconds backward;  // one microbatch
  Seconds update;
  Bytes fixed_memory;       // of one GPU of the group, without activations
  Bytes activation_memory;  // of one GPU, for each microbatch in flight
  Bytes capacity;           // of one GPU

  [[nodiscard]] Seconds pass() const { return forward + backward; }
  [[nodiscard]] Bytes least_memory() const { return fixed_memory + activation_memory; }
  [[nodiscard]] bool fits() const { return least_memory() <= capacity; }
};

// The figures of an Estimate that the search compares.
struct Quote {
  Seconds iteration;
  Dollars cost;         // of an iteration, GPUs and traffic
  Bytes memory_excess;  // over the GPU's memory, in the worst stage; zero if the plan fits
};

// A plan is of no interest that reaches one of these.
struct Ceiling {
  Seconds iteration{std::numeric_limits<double>::infinity()};
  Dollars cost{std::numeric_limits<double>::infinity()};

  [[nodiscard]] bool is_reached_by(const Quote& quote) const {
    return quote.iteration >= iteration || quote.cost >= cost;
  }
};

// What a message takes, over whichever links there are.
struct LinkRange {
  Seconds least;
  Seconds most;
};

// What is left of a sum of gradients after the backward pass that it follows, bucket after bucket.
inline Seconds exposed(Seconds reduction, Seconds backward, int buckets) {
  return reduction - std::min(reduction, backward) * (1 - 1.0 / buckets);
}

// A message over one link: it keeps its sender and its receiver for `occupancy`, and arrives a latency later.
struct MessageTime {
  Seconds latency;
  Seconds occupancy;
};

// Answers about one job on one cluster, from tables that were made once. The job and the cluster outlive it.
class JobEstimator {
 public:
  JobEstimator() = default;
  JobEstimator(const JobEstimator&) = delete;
  JobEstimator& operator=(const JobEstimator&) = delete;
  virtual ~JobEstimator() = default;

  // The same figures as Estimator::estimate gives; nothing if they surely reach the ceiling, which most plans of a
  // search do. Memory only: whether there are that many GPUs is not asked here.
  [[nodiscard]] virtual std::optional<Quote> quote_below(const Ceiling& ceiling, const GroupedPlan& plan) const = 0;
  // The same figures as Estimator::simulate gives, a microsecond for every ten passes of microbatches; nothing if they
  // reach the ceiling, as far as the beginning of the step tells.
  [[nodiscard]] virtual std::optional<Quote> played_below(const Ceiling& ceiling, const GroupedPlan& plan) const = 0;

  [[nodiscard]] Quote quote(const GroupedPlan& plan) const { return quote_below({}, plan).value(); }
  [[nodiscard]] Quote played_quote(const GroupedPlan& plan) const { return played_below({}, plan).value(); }
  [[nodiscard]] virtual StageCost stage_cost(const StageShape& shape) const = 0;

  // For the way from one plan to another: weights and optimizer's state of a layer, on all GPUs of one replica; and how
  // long a node of one pool takes to send so much to a node of the other.
  [[nodiscard]] virtual Bytes state_of_layer(int layer) const = 0;
  [[nodiscard]] virtual Seconds transfer(Bytes amount, int from_pool, int to_pool) const = 0;

  // For proofs that no plan is better (docs/planner-bound.md).
  //
  // To sum the gradients of a stage that has a group like this one and at least so many replicas; grows with their
  // number, whatever the microbatch size.
  [[nodiscard]] virtual Seconds least_reduction(const StageShape& shape, int replicas) const = 0;
  // From the end of such a stage's last backward pass to its last update, if the sum takes so long and none of its
  // replicas has a longer backward pass.
  [[nodiscard]] virtual Seconds least_finish(const StageShape& shape, Seconds reduction,
                                             Seconds longest_backward) const = 0;
  // A microbatch's activations from such a group's last layer to the next stage. `in_one_node`: some pool's part of the
  // plan may be on one node.
  [[nodiscard]] virtual LinkRange link_range(const StageShape& shape, bool in_one_node) const = 0;
  // The same to a stage on this pool, at least.
  [[nodiscard]] virtual MessageTime least_message(const StageShape& shape, int to_pool, bool in_one_node) const = 0;
};

class Estimator {
 public:
  Estimator() = default;
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;
  virtual ~Estimator() = default;

  // Time, memory and cost of a well-formed plan. A plan that does not fit is a result with violations; an error means
  // that the question has no answer (an accelerator that nobody knows).
  [[nodiscard]] virtual Result<Estimate> estimate(const JobSpec& job, const ClusterState& cluster,
                                                  const Plan& plan) const = 0;

  // The same, with the step played operation by operation: what a plan is judged by in the end.
  [[nodiscard]] virtual Result<Estimate> simulate(const JobSpec& job, const ClusterState& cluster,
                                                  const Plan& plan) const = 0;

  // What the schedule is made from that simulate() has played: whoever runs the plan runs that one.
  [[nodiscard]] virtual Result<ScheduleTimes> schedule_times(const JobSpec& job, const ClusterState& cluster,
                                                             const Plan& plan) const = 0;

  // Tables for all the job's microbatch sizes and these tensor-parallel degrees.
  [[nodiscard]] virtual Result<std::unique_ptr<JobEstimator>> prepare(const JobSpec& job, const ClusterState& cluster,
                                                                      std::span<const int> degrees) const = 0;
};

}  // namespace sailor
