// Replay: a job over a recorded trace of availability: how much it trains, what that costs, and what interruptions
// cost.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/planner.h"
#include "planner/replan/change_rules.h"
#include "planner/replan/look_ahead.h"
#include "planner/replay/replay_report.h"
#include "planner/replay/timeline.h"

namespace sailor {

enum class ReplayPolicy {
  kLive,          // a new plan for every change of availability, live: workers pass their state on
  kLiveAhead,     // as kLive, and looks ahead (planner/replan/look_ahead.h)
  kRestart,       // a new plan for every change of availability, started from a checkpoint
  kRestartAhead,  // as kRestart, and looks ahead
  kStatic,  // one plan, of the size that completes the most steps; the job waits while some of its GPUs are missing
  kVaruna,  // as kRestart, but with equal pipelines of single GPUs, and with periodic checkpoints only
  kOracle,  // knows the future; no policy completes more steps (oracle.h)
};

inline constexpr std::array kAllReplayPolicies{
    ReplayPolicy::kLive,   ReplayPolicy::kLiveAhead, ReplayPolicy::kRestart, ReplayPolicy::kRestartAhead,
    ReplayPolicy::kStatic, ReplayPolicy::kVaruna,    ReplayPolicy::kOracle};

std::string_view to_string(ReplayPolicy policy);
// The policy that plays a job of this mode.
ReplayPolicy policy_of(ElasticityMode mode);
// The same policy with looking ahead, if there is one.
std::optional<ReplayPolicy> looking_ahead(ReplayPolicy policy);

struct ReplayOptions {
  Seconds restart =
      kAssumedRestart;     // from the start of pods and processes until all workers have loaded the checkpoint
  Seconds planning{0.5};   // the time for which a job that lost GPUs waits for its new plan
  Seconds node_start{60};  // from when a new node exists until workers can start on it
  Seconds notice{15};      // how long before its end a node is known to leave
  LookAhead look_ahead = LookAhead::kAuto;  // how kLiveAhead and kRestartAhead look ahead
  std::uint64_t seed = 1;                   // draws the nodes that leave, where a trace has only counts
  PricesOfPools prices;                     // pools without prices here keep that of the cluster
  PlanOptions plan;                         // the options of each call of the planner
};

// The trace of a pool limits the nodes that the pool has in the cluster; pools without a trace have all their nodes all
// the time. The replay ends with the shortest trace.
class Replay {
 public:
  // The job and the estimator must outlive the replay. Fails if a trace or a price is of a pool that the cluster does
  // not have, and with kInfeasible if no plan fits even the whole cluster.
  static Result<Replay> make(const JobSpec& job, const ClusterState& cluster, const std::map<PoolKey, Trace>& traces,
                             const Estimator& estimator, const ReplayOptions& options);

  // The result does not depend on the policies that were played before, except that the oracle also knows their plans.
  Result<ReplayReport> run(ReplayPolicy policy);

  [[nodiscard]] const std::vector<NodeLifetime>& nodes() const;
  // Sentences on what a reader must know to understand the result: how nodes were drawn, and which traces are cut
  // short.
  [[nodiscard]] const std::vector<std::string>& notes() const;

 private:
  struct World;
  explicit Replay(std::shared_ptr<World> world) : world_(std::move(world)) {}
  std::shared_ptr<World> world_;
};

}  // namespace sailor
