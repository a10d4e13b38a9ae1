// WeightSync: brings the weights that a worker computes with up to date with the states that workers hold and update.
#pragma once

#include <vector>

#include "trainer/model/stage_model.h"
#include "trainer/step/groups.h"

namespace sailor::trainer {

// Three cases: FP32 computes with the state itself, nothing to do; BF16 rounds the FP32 weights; where the optimizer's
// state is sharded, every holder sends its share to all others.
class WeightSync {
 public:
  // All of them outlive the object.
  WeightSync(const Roster& roster, int rank, Groups& groups, StageModel& model);

  // Called by all workers of a generation: when it begins, and after every update.
  void run(const PieceStates& held);

 private:
  struct Gather {  // of one parcel
    Group* group = nullptr;
    std::vector<Block> own_share;            // in the held part
    std::vector<std::vector<Block>> shares;  // in the computed part
  };
  void gather(int piece, const PieceStates& held);

  StageModel& model_;
  bool shards_optimizer_;
  std::map<int, std::vector<Gather>> gathers_;  // by piece
};

}  // namespace sailor::trainer
