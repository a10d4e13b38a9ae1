// HeldState: what a worker keeps in memory from one generation to the next.
#pragma once

#include <cstdint>
#include <map>

#include "core/protocol/assignment.h"
#include "trainer/elastic/protocol/holding.h"
#include "trainer/elastic/state/transfer_units.h"
#include "trainer/model/layer_state.h"

namespace sailor::trainer {

// In place of a squared norm: the step counts, and its gradients, which are no numbers, are not applied.
inline constexpr double kStepLeftOut = -1;

// The step that an account speaks of is the protocol's (worker_machine.h); here are the tensors to it.
struct HeldState {
  LayerStates layer_states;
  LayerStates copies;                          // of slices that another node alone holds, at the same step
  LayerStates arrived, arrived_copies;         // what the worker is to hold in a generation that has not begun yet
  std::int64_t step = 0;                       // optimizer steps that the layer states contain
  double loss = 0;                             // of the last of them
  std::map<int, at::Tensor> gradients;         // complete, of the step after it; empty: none
  std::map<int, at::Tensor> copied_gradients;  // of the copies, likewise
  double squared_norm = 0;                     // of these, over all layer states of the model
  double next_loss = 0;                        // of the step that they are of
  std::int64_t reached = 0;                    // `step`, or one more while a step is being worked at
  double first_loss = 0;                       // of the job's first step, if known here

  [[nodiscard]] Holding holding(const Account& account) const;
  [[nodiscard]] WorkerSlices slices() const;

  // The generation has begun: only what arrived is kept, which all have confirmed.
  void keep_arrived();

  // It never did: what arrived may be all that is left of it, and is held beside what was here before.
  void join_arrived(const ModelSpec& model);
  void join_copies(const ModelSpec& model);            // no more told from the rest; without gradients only
  void join(const ModelSpec& model, HeldState other);  // of the same step; likewise

  void apply_gradients(const TrainingSpec& training);
  void forget_gradients();
};

}  // namespace sailor::trainer
