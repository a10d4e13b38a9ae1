// StepFlow: the input of the step simulation in flat arrays, so that a quarter of a million passes are simulated in
// milliseconds, and a hundred passes in a few microseconds.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/model/plan.h"
#include "core/model/schedule_times.h"

namespace sailor {

// One replica of a stage. All times are in nanoseconds.
struct FlowWorker {
  std::int64_t forward = 0;
  std::int64_t backward = 0;
  int cap = 1;         // most microbatches in flight
  int link_class = 0;  // its row or column in the tables of links
  int nic = kNoNic;    // its node's NIC, if several replicas share it and it can limit them
  static constexpr int kNoNic = -1;
};

// The times of one message over a link, in nanoseconds.
struct FlowLink {
  std::int64_t latency = 0;
  std::int64_t occupancy = 0;  // how long it occupies its sender, and its receiver
  std::int64_t nic = 0;        // how long it occupies a shared NIC
};

// The links between a stage and the next. The link from class a of the upper stage to class b of the lower stage is
// number first_link + a * link_classes_below + b.
struct FlowBoundary {
  int first_link = 0;
  int link_classes_below = 1;
};

// What an idle replica starts if it could start a forward or a backward pass. Backward first keeps fewer microbatches
// in flight. Forward first fills the replica up to its cap, so that the stages after it wait less.
enum class PassOrder { kBackwardFirst, kForwardFirst };

struct StepFlow {
  int microbatches = 0;
  int nics = 0;
  PassOrder order = PassOrder::kBackwardFirst;
  std::vector<FlowWorker> workers;  // the workers of all stages, in order
  std::vector<int> first_worker;    // index of each stage's first worker; after them the number of workers
  std::vector<FlowBoundary> boundaries;
  std::vector<FlowLink> links;
  std::vector<int> routes;  // [slot(stage, microbatch)]: index of the worker within its stage

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

// `routes` has the layout of Schedule::routes.
StepFlow flow_of(const ScheduleTimes& times, const std::vector<std::vector<int>>& routes);

inline constexpr std::int64_t kTooLate = std::numeric_limits<std::int64_t>::max();

// Simulates the step and returns its duration in nanoseconds. Returns kTooLate as soon as some stage certainly cannot
// finish its passes by its deadline. `deadlines` has one entry per stage, or is empty without deadlines.
std::int64_t step_duration(const StepFlow& flow, std::span<const Nanoseconds> deadlines);

}  // namespace sailor
