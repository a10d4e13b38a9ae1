#include "trainer/elastic/state/state_transfer.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "core/model/check.h"
#include "trainer/elastic/state/incoming_message.h"

namespace sailor::trainer {
namespace {

// Returns a state for each wanted shard: the existing one if the worker has exactly that shard, else an empty one to
// fill.
LayerStates wanted_states(const ModelSpec& model, const StateSlices& wanted, const LayerStates& held) {
  LayerStates states;
  for (const auto& [layer_state, slices] : wanted) {
    const StateLayout shard = shard_of(layout_of(model, layer_state), slices);
    const auto found = held.find(layer_state);
    const bool is_unchanged = found != held.end() && found->second.layout == shard;
    states[layer_state] = is_unchanged ? found->second : empty_state(shard);
  }
  return states;
}

// The wanted states while they are filled.
struct Wanted {
  LayerStates own, peer_replicas;
};

// The state that contains a unit; null if the worker does not have the unit.
const LayerState* place_of(const TransferUnit& unit, const LayerStates& own, const LayerStates& peer_replicas) {
  for (const LayerStates* states : {&own, &peer_replicas}) {
    const auto found = states->find(unit.layer_state);
    if (found != states->end() && span_of(found->second.layout, unit.slices.front())) return &found->second;
  }
  return nullptr;
}

const LayerState& known_place_of(const TransferUnit& unit, const LayerStates& own, const LayerStates& peer_replicas) {
  const LayerState* place = place_of(unit, own, peer_replicas);
  SAILOR_CHECK(place != nullptr, "a unit of layer state {} is not where it was said to be", unit.layer_state);
  return *place;
}

// Copies units that stay on this worker to their new position in the flat tensors. If its old state was not of the
// agreed resume point, the worker has dropped it, and all wanted units are sent.
void copy_own(const TransferUnits& units, int rank, const HeldState& held, const Wanted& into) {
  for (const int id : units.wanted_by(rank)) {
    if (!std::ranges::binary_search(units.held_by(rank), id)) continue;
    const TransferUnit& unit = units.units()[static_cast<std::size_t>(id)];
    const LayerState* source = place_of(unit, held.layer_states, held.peer_replicas);
    if (source == nullptr) continue;
    const LayerState& target = known_place_of(unit, into.own, into.peer_replicas);
    if (!source->weights.is_same(target.weights)) copy_slices(unit.slices, *source, target);
  }
}

}  // namespace

std::array<at::Tensor, kStateTensors> tensors_of(const LayerState& state) {
  return {state.weights, state.momentum, state.variance};
}

void transfer_state(const TransferUnits& units, const std::vector<UnitMove>& moves, const TransferTarget& target,
                    Group& everyone, HeldState& held) {
  Wanted wanted{.own = wanted_states(units.model(), target.wanted.own, held.layer_states),
                .peer_replicas = wanted_states(units.model(), target.wanted.peer_replicas, held.peer_replicas)};
  copy_own(units, target.rank, held, wanted);
  std::vector<std::unique_ptr<Work>> transfers;
  std::vector<IncomingMessage> messages;
  for (int tag = 0; const UnitMove& move : moves) {
    const TransferUnit& unit = units.units()[static_cast<std::size_t>(move.unit)];
    for (std::size_t i = 0; i < kStateTensors; ++i, ++tag) {  // every tensor of a move has its own tag
      if (move.from == target.rank) {
        const LayerState& state = known_place_of(unit, held.layer_states, held.peer_replicas);
        const at::Tensor message = packed(tensors_of(state)[i], spans_of(state.layout, unit.slices));
        transfers.push_back(everyone.send(message, move.to, tag));
      }
      if (move.to == target.rank) {
        const LayerState& state = known_place_of(unit, wanted.own, wanted.peer_replicas);
        messages.emplace_back(tensors_of(state)[i], spans_of(state.layout, unit.slices), unit.elements);
        transfers.push_back(everyone.receive(messages.back().message(), move.from, tag));
      }
    }
  }
  for (const auto& transfer : transfers) transfer->wait();
  for (const IncomingMessage& incoming : messages) incoming.unpack();
  held.arrived = std::move(wanted.own);  // only now, so that a worker that loses a peer earlier keeps nothing of it
  held.arrived_peer_replicas = std::move(wanted.peer_replicas);
}

}  // namespace sailor::trainer
