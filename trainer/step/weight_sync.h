// WeightSync: brings the weights that a worker computes with up to date with the states that workers hold and update.
#pragma once

#include <vector>

#include "trainer/model/stage_model.h"
#include "trainer/step/training_groups.h"

namespace sailor::trainer {

// Three cases: FP32 computes with the state itself, nothing to do; BF16 rounds the FP32 weights; where the optimizer's
// state is sharded, every holder sends its share to all others.
class WeightSync {
 public:
  // All of them outlive the object.
  WeightSync(const Roster& roster, int rank, TrainingGroups& groups, StageModel& model);

  // Called by all workers of a generation: when it begins, and after every update.
  void run(const LayerStates& held);

 private:
  struct Gather {  // of one unit
    Group* group = nullptr;
    std::vector<StridedSpan> own_spans;                     // in the held shard
    std::vector<std::vector<StridedSpan>> spans_by_holder;  // in the computed shard
  };
  void gather(int layer_state, const LayerStates& held);

  StageModel& model_;
  bool shards_optimizer_;
  std::map<int, std::vector<Gather>> gathers_;  // by layer state
};

}  // namespace sailor::trainer
