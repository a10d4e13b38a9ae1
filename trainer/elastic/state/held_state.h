// HeldState: the state that a worker keeps in memory from one generation to the next.
#pragma once

#include <cstdint>
#include <map>

#include "core/protocol/assignment.h"
#include "trainer/elastic/protocol/holding.h"
#include "trainer/elastic/state/transfer_units.h"
#include "trainer/model/layer_state.h"

namespace sailor::trainer {

// Instead of a squared norm: the gradients are not finite; the step counts, but they are not applied.
inline constexpr double kStepSkipped = -1;

// The protocol tracks the version of the state (StateVersion in worker_machine.h); these are the tensors of that
// version.
struct HeldState {
  LayerStates layer_states;
  LayerStates peer_replicas;                         // of slices that only another node has; at the same step
  LayerStates arrived, arrived_peer_replicas;        // for a generation that has not started yet
  std::int64_t step = 0;                             // optimizer steps that the layer states contain
  double loss = 0;                                   // of the last step
  std::map<int, at::Tensor> gradients;               // complete gradients of the next step; empty: none
  std::map<int, at::Tensor> peer_replica_gradients;  // the same of the peer replicas
  double squared_norm = 0;                           // of the gradients of the whole model
  double next_loss = 0;                              // of the step of these gradients
  std::int64_t reached = 0;                          // `step`, or `step` + 1 while the next step is computed
  double first_loss = 0;                             // of the first step of the job; 0: not known here

  [[nodiscard]] Holding holding(const StateVersion& version) const;
  [[nodiscard]] WorkerSlices slices() const;

  // The generation has started, because all workers have confirmed. Keeps only what arrived for it.
  void keep_arrived();

  // The generation did not start. Keeps what arrived beside the older state, because it may be the only copy left.
  void join_arrived(const ModelSpec& model);
  void join_peer_replicas(const ModelSpec& model);     // from now on they count as own state; only without gradients
  void join(const ModelSpec& model, HeldState other);  // both must be of the same step; only without gradients

  void apply_gradients(const TrainingSpec& training);
  void forget_gradients();
};

}  // namespace sailor::trainer
