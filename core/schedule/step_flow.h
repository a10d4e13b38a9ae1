// StepFlow: all that decides how a step goes, in flat arrays: what StepSimulation plays, a quarter of a million passes
// in milliseconds, or a hundred in a few microseconds.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/model/plan.h"
#include "core/model/schedule_times.h"

namespace sailor {

// Times in nanoseconds.
struct FlowWorker {  // a replica of a stage
  std::int64_t forward = 0;
  std::int64_t backward = 0;
  int cap = 1;         // microbatches in flight
  int link_class = 0;  // row or column of its boundaries' links
  int nic = kNoNic;    // network card of the node, where replicas share one that limits them
  static constexpr int kNoNic = -1;
};

struct FlowLink {
  std::int64_t latency = 0;
  std::int64_t occupancy = 0;  // of sender and receiver
  std::int64_t nic = 0;        // of shared network cards
};

struct FlowBoundary {  // between a stage and the next
  int first_link = 0;
  int link_classes_below = 1;  // link (a, b) of classes above and below is first_link + a * link_classes_below + b
};

struct StepFlow {
  int microbatches = 0;
  int nics = 0;
  std::vector<FlowWorker> workers;  // of all stages, in order
  std::vector<int> first_worker;    // of every stage, and the number of workers
  std::vector<FlowBoundary> boundaries;
  std::vector<FlowLink> links;
  std::vector<int> routes;  // [slot of stage and microbatch]: index of a worker within its stage

  [[nodiscard]] int stages() const { return static_cast<int>(first_worker.size()) - 1; }
  [[nodiscard]] int first(int stage) const { return first_worker[static_cast<std::size_t>(stage)]; }
  [[nodiscard]] std::size_t width(int stage) const { return static_cast<std::size_t>(first(stage + 1) - first(stage)); }
  [[nodiscard]] std::size_t slot(int stage, int microbatch) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(microbatches) +
           static_cast<std::size_t>(microbatch);
  }
  [[nodiscard]] int replica_of(int stage, int microbatch) const { return routes[slot(stage, microbatch)]; }
  [[nodiscard]] int worker_of(int stage, int microbatch) const { return first(stage) + replica_of(stage, microbatch); }
};

// `routes` as in Schedule.
StepFlow flow_of(const Plan& plan, const ScheduleTimes& times, const std::vector<std::vector<int>>& routes);

inline constexpr std::int64_t kTooLate = std::numeric_limits<std::int64_t>::max();

// When the last pass is done, after the start of the step; kTooLate as soon as it is sure that some stage is not done
// with its passes by its deadline, of which there is one for each, or none at all.
std::int64_t step_duration(const StepFlow& flow, std::span<const Nanoseconds> deadlines);

}  // namespace sailor
