// Replay: a job over a trace of availability. What it gets done, what that costs, and what interruptions take.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "planner/planner.h"
#include "planner/replay/trace.h"

namespace sailor {

enum class ReplayPolicy {
  kLive,     // re-planned while it runs; workers hand their state on
  kRestart,  // re-planned, but every new plan starts from a checkpoint
  kStatic,   // planned once, for the whole cluster; waits while a part of it is missing
};

std::string_view to_string(ReplayPolicy policy);

struct ReplayOptions {
  ReplayPolicy policy = ReplayPolicy::kLive;
  Seconds rescale{2};   // of standing still for a live change of plan
  Seconds restart{60};  // of starting anew: pods, processes, the checkpoint
  PlanOptions plan;     // but for `current`, which the replay knows
};

// Between two changes of availability or of plan.
struct ReplayPeriod {
  Seconds from;
  Seconds to;
  int available_gpus = 0;
  int used_gpus = 0;      // 0: waits for capacity
  double throughput = 0;  // iterations per second once it runs
  Seconds paused;         // of it, before it ran
  double lost_steps = 0;  // computed before it, to be computed again
  std::string plan;       // its hash; empty: none
};

struct ReplayReport {
  std::vector<ReplayPeriod> periods;
  double steps = 0;     // that count
  double computed = 0;  // lost ones too
  Dollars cost;
  Seconds training;  // computing steps
  Seconds paused;
  Seconds waiting;  // for capacity
  Seconds end;      // of the trace, or when the job was done
  int changes = 0;  // of plan, the first start left out
  bool is_done = false;

  [[nodiscard]] double goodput() const { return computed > 0 ? steps / computed : 1; }
};

// A pool's trace limits the nodes it has in the cluster; pools without one have them all the time. Nodes go without
// notice: live, the step in flight is lost; with restarts, or where the job has to wait, all since the last checkpoint.
Result<ReplayReport> replay(const JobSpec& job, const ClusterState& cluster, const std::map<PoolKey, Trace>& traces,
                            const Estimator& estimator, const ReplayOptions& options);

}  // namespace sailor
