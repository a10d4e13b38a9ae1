// HeldState: the state that a worker keeps in memory from one generation to the next.
#pragma once

#include <cstdint>
#include <map>

#include "core/protocol/assignment.h"
#include "trainer/elastic/protocol/state_report.h"
#include "trainer/elastic/state/transfer_units.h"
#include "trainer/model/layer_state.h"

namespace sailor::trainer {

// A value of squared_norm. It means that the gradients are not finite: the step counts, but the gradients are not
// applied.
inline constexpr double kStepSkipped = -1;

// These are the tensors of the state. Its version (StateVersion in worker_machine.h) is in the state machine of the
// worker.
struct HeldState {
  LayerStates layer_states;
  LayerStates peer_replicas;                         // replicas of slices that only another node updates; same step
  LayerStates arrived, arrived_peer_replicas;        // state for a generation that has not started yet
  std::int64_t step = 0;                             // optimizer steps that the layer states contain
  double loss = 0;                                   // loss of the last step
  std::map<int, at::Tensor> gradients;               // complete gradients of the next step, by layer state; empty: none
  std::map<int, at::Tensor> peer_replica_gradients;  // the same for the peer replicas
  double squared_norm = 0;                           // squared norm of the gradients of the whole model
  double next_loss = 0;                              // loss of the step of these gradients
  std::int64_t reached = 0;                          // `step`, or `step` + 1 while the next step is computed
  double first_loss = 0;                             // loss of the first step of the job; 0: not known here

  [[nodiscard]] StateReport state_report(const StateVersion& version) const;
  [[nodiscard]] WorkerSlices slices() const;

  // Keeps only the state that arrived for the new generation. Call it when the generation has started.
  void keep_arrived();

  // Adds the state that arrived to the older state. Call it when the generation did not start: what arrived may be the
  // only copy left.
  void join_arrived(const ModelSpec& model);
  // Adds the peer replicas to the own state. There must be no gradients.
  void join_peer_replicas(const ModelSpec& model);
  // Adds the other state, which must be of the same step and may be in host memory. There must be no gradients.
  void join(const ModelSpec& model, const HeldState& other);

  void apply_gradients(const TrainingSpec& training);
  void forget_gradients();
};

}  // namespace sailor::trainer
