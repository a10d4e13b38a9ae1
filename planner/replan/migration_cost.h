// MigrationCost: what it costs to move from the running plan to another one: which state the GPUs miss, and for how
// long the job pauses while they receive it.
#pragma once

#include <vector>

#include "planner/problem/planning_problem.h"

namespace sailor {

class MigrationCost {
 public:
  // `running`: what is left of the running plan on the problem's cluster. The problem must outlive this object.
  MigrationCost(const PlanningProblem& problem, const GroupedPlan& running);

  // Zero if nothing changes. Assumes that every GPU keeps as much state as possible: of the work in its pool it gets
  // the part that overlaps most with what it holds, as the assignment of workers to GPUs is decided later. The GPUs
  // that miss most and those that send most determine the pause.
  [[nodiscard]] Seconds pause_for(const GroupedPlan& next) const;
  // The state that the GPUs miss, summed over all of them.
  [[nodiscard]] Bytes bytes_to_move(const GroupedPlan& next) const;

 private:
  // Equal GPUs: each holds 1 / tensor_parallel of the state of these layers.
  struct StateHolders {
    int pool = 0;
    LayerRange layers;
    int tensor_parallel = 1;
    int gpus = 0;
  };
  // What each of these GPUs must receive.
  struct MissingState {
    StateHolders receivers;
    std::vector<Bytes> layers;  // by layer
    Bytes sum;
  };

  static std::vector<StateHolders> holders_of(const GroupedPlan& plan);
  [[nodiscard]] MissingState missing_state_of(const StateHolders& next, const StateHolders* now) const;
  [[nodiscard]] std::vector<MissingState> missing_states_of(const GroupedPlan& next) const;
  [[nodiscard]] Seconds receive_time(const MissingState& missing) const;
  [[nodiscard]] Seconds send_time(const std::vector<MissingState>& all) const;

  const PlanningProblem& problem_;
  GroupedPlan running_;
  std::vector<StateHolders> now_;
  std::vector<Bytes> state_;  // by layer
};

// The effective value of an iteration (in seconds or dollars) if the job first pauses for `pause` and then runs the
// plan until `lifetime` is over. Infinite if the pause takes the whole lifetime.
double value_with_pause(double value, Seconds pause, Seconds lifetime);

}  // namespace sailor
