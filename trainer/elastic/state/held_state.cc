#include "trainer/elastic/state/held_state.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "trainer/device/device.h"
#include "trainer/optim/adamw.h"

namespace sailor::trainer {
namespace {

// The union of two shards of a layer state.
LayerState joined(const ModelSpec& model, const LayerState& one, const LayerState& other) {
  if (one.layout == other.layout) return one;
  const StateLayout whole = layout_of(model, one.layout.id);
  std::vector<TransferUnit> units = transfer_units_of(whole, {one.layout, other.layout});
  std::erase_if(units, [](const TransferUnit& unit) { return unit.holders.empty(); });
  std::vector<Slice> slices;
  for (const TransferUnit& unit : units) std::ranges::copy(unit.slices, std::back_inserter(slices));
  LayerState both = empty_state(shard_of(whole, neighbours_joined(std::move(slices))));
  for (const TransferUnit& unit : units) copy_slices(unit.slices, unit.holders.front() == 0 ? one : other, both);
  return both;
}

LayerState on_compute_device(const LayerState& state) {
  const at::Device device = compute_device();
  return {.layout = state.layout,
          .weights = state.weights.to(device),
          .momentum = state.momentum.to(device),
          .variance = state.variance.to(device)};
}

void join_states(const ModelSpec& model, const LayerStates& from, LayerStates& into) {
  for (const auto& [id, state] : from) {
    const auto found = into.find(id);
    if (found == into.end()) {
      into[id] = on_compute_device(state);
    } else {
      found->second = joined(model, found->second, state);
    }
  }
}

StateSlices slices_of(const LayerStates& states) {
  StateSlices slices;
  for (const auto& [id, state] : states) slices[id] = slices_of(state.layout);
  return slices;
}

}  // namespace

StateReport HeldState::state_report(const StateVersion& version) const {
  return {.version = version,
          .units = {},
          .loss = loss,
          .next_loss = next_loss,
          .reached = reached,
          .first_loss = first_loss};
}

WorkerSlices HeldState::slices() const {
  return {.own = slices_of(layer_states), .peer_replicas = slices_of(peer_replicas)};
}

void HeldState::keep_arrived() {
  layer_states = std::exchange(arrived, {});
  peer_replicas = std::exchange(arrived_peer_replicas, {});
  reached = step;
}

void HeldState::join_arrived(const ModelSpec& model) {
  join_states(model, std::exchange(arrived, {}), layer_states);
  join_states(model, std::exchange(arrived_peer_replicas, {}), peer_replicas);
}

void HeldState::join_peer_replicas(const ModelSpec& model) {
  join_states(model, std::exchange(peer_replicas, {}), layer_states);
}

void HeldState::join(const ModelSpec& model, const HeldState& other) {
  join_states(model, other.layer_states, layer_states);
  join_states(model, other.peer_replicas, peer_replicas);
}

void HeldState::apply_gradients(const TrainingSpec& training) {
  if (squared_norm == kStepSkipped) {
    gradients.clear();
    peer_replica_gradients.clear();
  }
  const double scale = clip_scale(training.optimizer, squared_norm);
  for (const auto& [id, gradient] : gradients) {
    apply_adamw(layer_states.at(id), gradient, training, step + 1, scale);
  }
  for (const auto& [id, gradient] : peer_replica_gradients) {
    apply_adamw(peer_replicas.at(id), gradient, training, step + 1, scale);
  }
  ++step;
  if (step == 1) first_loss = next_loss;
  loss = next_loss;
  reached = std::max(reached, step);
  forget_gradients();
}

void HeldState::forget_gradients() {
  gradients.clear();
  peer_replica_gradients.clear();
  squared_norm = next_loss = 0;
}

}  // namespace sailor::trainer
