// HeldState: what a worker keeps in memory from one generation to the next.
#pragma once

#include <cstdint>
#include <map>

#include "planner/model/assignment.h"
#include "trainer/elastic/holding.h"
#include "trainer/model/piece_state.h"

namespace sailor::trainer {

struct HeldState {
  PieceStates pieces;
  std::int64_t step = 0;                // optimizer steps that the pieces contain
  std::map<int, at::Tensor> gradients;  // complete, of the step after it; empty: none
  double squared_norm = 0;              // of the last step applied
  std::int64_t reached = 0;             // `step`, or one more while a step is being worked at
  double first_loss = 0;                // of the job's first step, if known here

  [[nodiscard]] Holding holding() const;
  void apply_gradients(const TrainingSpec& training, double norm_squared);
};

}  // namespace sailor::trainer
