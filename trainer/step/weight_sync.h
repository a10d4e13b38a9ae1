// WeightSync: copies updated weights from the states that workers hold to the models that compute with them.
#pragma once

#include <vector>

#include "trainer/model/stage_model.h"
#include "trainer/step/training_groups.h"

namespace sailor::trainer {

// There are three cases. If the optimizer is sharded, every holder sends its updated slices to all others (all-gather).
// Otherwise, in BF16, the FP32 weights of the state are rounded. Otherwise, in FP32, the model computes with the state
// itself, and there is nothing to do.
class WeightSync {
 public:
  // All arguments outlive this object.
  WeightSync(const Roster& roster, int rank, TrainingGroups& groups, StageModel& model);

  // All workers that train call it when the generation starts, and after every update.
  void run(const LayerStates& held);

 private:
  struct Gather {  // the exchange of one transfer unit
    Group* group = nullptr;
    std::vector<StridedSpan> own_spans;                     // place in the held shard
    std::vector<std::vector<StridedSpan>> spans_by_holder;  // place in the computed shard
  };
  void gather(int layer_state, const LayerStates& held);

  StageModel& model_;
  bool shards_optimizer_;
  std::map<int, std::vector<Gather>> gathers_;  // keyed by layer state
};

}  // namespace sailor::trainer
