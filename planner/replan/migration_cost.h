// MigrationCost: how much state must move, and how long training pauses, if the job changes from the running plan to
// another one.
#pragma once

#include <optional>
#include <vector>

#include "planner/problem/planning_problem.h"

namespace sailor {

// The workers need this time to agree on a new plan and to connect, even if no state moves.
inline constexpr Seconds kRegroup{2};

class MigrationCost {
 public:
  // `running` is the part of the running plan that still has its GPUs in `cluster`, to which its pool indices refer.
  // That is the problem's cluster or one that differs in the speed grades of GPUs. The problem must outlive this
  // object.
  MigrationCost(const PlanningProblem& problem, const GroupedPlan& running, const ClusterState& cluster);

  // Returns the pause. It is zero if the plan does not change. Otherwise it is a fixed time in which the workers
  // connect, plus the time to move state. The GPUs that miss the most state and those that send the most determine the
  // latter.
  // The GPUs get their new roles only later, so the estimate assumes a good assignment: within its pool and those that
  // differ from it in the speed grade, each GPU gets the role that lets it keep as much of its state as possible.
  [[nodiscard]] Seconds pause_for(const GroupedPlan& next) const;
  // Returns the time in which GPUs that are about to leave send the state of those layers of which the running plan
  // holds none. `leaving` is the plan of these GPUs; its pool indices refer to the problem's cluster.
  [[nodiscard]] Seconds time_to_hand_over(const GroupedPlan& leaving, const GroupedPlan& next) const;
  // Returns the size of the state that GPUs must receive, summed over all GPUs.
  [[nodiscard]] Bytes bytes_to_move(const GroupedPlan& next) const;

 private:
  // A number of GPUs that hold equal amounts: each holds 1 / tensor_parallel of the state of these layers.
  struct StateHolders {
    int pool = 0;
    LayerRange layers;
    int tensor_parallel = 1;
    int gpus = 0;
  };
  // The state that each of the receiving GPUs must get.
  struct MissingState {
    StateHolders receivers;
    std::vector<Bytes> layers;  // [layer]: the state of the layer
    Bytes sum;
  };

  // [pool]: the first of the pools that differ from it only in the speed grade.
  static std::vector<int> kinds_of(const std::vector<Pool>& pools);
  [[nodiscard]] int kind_of(int pool) const { return kinds_[static_cast<std::size_t>(pool)]; }
  // Returns the index in the problem's cluster of the pool, or of one like it.
  [[nodiscard]] std::optional<int> pool_like(const PoolKey& key) const;
  [[nodiscard]] std::vector<StateHolders> holders_of(const GroupedPlan& plan, const ClusterState& cluster) const;
  [[nodiscard]] MissingState missing_state_of(const StateHolders& next, const StateHolders* now) const;
  [[nodiscard]] std::vector<MissingState> missing_states_of(const GroupedPlan& next) const;
  // The longest time that a sender or a receiver needs.
  [[nodiscard]] Seconds transfer_time(const std::vector<MissingState>& all,
                                      const std::vector<StateHolders>& senders) const;
  [[nodiscard]] Seconds receive_time(const MissingState& missing, const std::vector<StateHolders>& senders) const;
  [[nodiscard]] Seconds send_time(const std::vector<MissingState>& all, const std::vector<StateHolders>& holders) const;

  const PlanningProblem& problem_;
  std::vector<int> kinds_;              // kinds_of() the problem's pools
  std::optional<GroupedPlan> running_;  // the running plan, if it runs in the problem's cluster
  std::vector<StateHolders> now_;       // the holders of the running plan
  std::vector<Bytes> state_;            // size of the state of each layer
};

// Returns the effective time or cost of an iteration if the job pauses for `pause` and then runs the plan for the rest
// of `lifetime`: value * lifetime / (lifetime - pause). If the pause takes the whole lifetime, the result is higher
// than that of any shorter pause, whatever the value.
double value_with_pause(double value, Seconds pause, Seconds lifetime);

}  // namespace sailor
