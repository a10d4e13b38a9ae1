// Moving: from the running plan to another one: whose GPUs lack which state, and for how long the job stands still.
#pragma once

#include <vector>

#include "planner/problem/planning_problem.h"

namespace sailor {

class Moving {
 public:
  // `running`: what is left of it in the world, which outlives this.
  Moving(const World& world, const GroupedPlan& running);

  // Zero if nothing changes. Every GPU keeps what it can: the work of most overlap in its pool is taken to be given to
  // it, as who works where is decided later. Those that lack most and those that send most decide.
  [[nodiscard]] Seconds pause_for(const GroupedPlan& next) const;
  // State that GPUs lack, all together.
  [[nodiscard]] Bytes to_move(const GroupedPlan& next) const;

 private:
  struct Holder {  // GPUs that are alike: each holds 1 / degree of the state of these layers
    int pool = 0;
    int first_layer = 0;
    int last_layer = 0;
    int degree = 1;
    int gpus = 0;
  };
  struct Lack {  // of each of these GPUs
    Holder who;
    std::vector<Bytes> layers;  // by layer
    Bytes sum;
  };

  static std::vector<Holder> holders_of(const GroupedPlan& plan);
  [[nodiscard]] Lack lack_of(const Holder& next, const Holder* now) const;
  [[nodiscard]] std::vector<Lack> lacks_of(const GroupedPlan& next) const;
  [[nodiscard]] Seconds to_receive(const Lack& lack) const;
  [[nodiscard]] Seconds to_send(const std::vector<Lack>& lacks) const;

  const World& world_;
  GroupedPlan running_;
  std::vector<Holder> now_;
  std::vector<Bytes> state_;  // by layer
};

// What an iteration of a plan comes to (in seconds or dollars), if the job stands still before it for so long and runs
// it till `lifetime` is over. Infinite if it never gets to run.
double value_with_pause(double value, Seconds pause, Seconds lifetime);

}  // namespace sailor
