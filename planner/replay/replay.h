// Replay: a job over a recorded trace of availability: how much it trains, what that costs, and what interruptions
// cost.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "planner/planner.h"
#include "planner/replay/trace.h"

namespace sailor {

enum class ReplayPolicy {
  kLive,     // a new plan for every change of availability, live: workers pass their state on
  kRestart,  // a new plan for every change of availability, started from a checkpoint
  kStatic,   // one plan for the whole cluster; the job waits while some of its GPUs are missing
};

std::string_view to_string(ReplayPolicy policy);

struct ReplayOptions {
  ReplayPolicy policy = ReplayPolicy::kLive;
  Seconds rescale{2};   // the pause of a live change of plan
  Seconds restart{60};  // the pause of a restart: pods, processes, the checkpoint
  PlanOptions plan;     // the options of each call of the planner; the replay sets `current`
};

// The time between two changes of availability.
struct ReplayPeriod {
  Seconds from;
  Seconds to;
  int available_gpus = 0;
  int used_gpus = 0;      // 0: the job waits for capacity
  double throughput = 0;  // iterations per second after the pause
  Seconds paused;         // the pause at the start of the period
  double lost_steps = 0;  // steps from before the period that must be computed again
  std::string plan;       // the hash of the plan; empty: none
};

struct ReplayReport {
  std::vector<ReplayPeriod> periods;
  double steps = 0;     // completed steps, without lost ones
  double computed = 0;  // completed steps, including lost ones
  Dollars cost;
  Seconds training;  // the time in which the job computes steps
  Seconds paused;
  Seconds waiting;  // the time in which the job waits for capacity
  Seconds end;      // the end of the trace, or the time when the job was done
  int changes = 0;  // how often the plan changed, without the first start
  bool is_done = false;

  [[nodiscard]] double goodput() const { return computed > 0 ? steps / computed : 1; }
};

// The trace of a pool limits the nodes that the pool has in the cluster; pools without a trace have all their nodes all
// the time. Nodes disappear without notice. A live change loses the step in flight; a restart, or a time in which the
// job must wait, loses everything since the last checkpoint.
Result<ReplayReport> replay(const JobSpec& job, const ClusterState& cluster, const std::map<PoolKey, Trace>& traces,
                            const Estimator& estimator, const ReplayOptions& options);

}  // namespace sailor
