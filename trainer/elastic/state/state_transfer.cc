#include "trainer/elastic/state/state_transfer.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "core/model/check.h"
#include "trainer/elastic/state/incoming_message.h"

namespace sailor::trainer {
namespace {

// Of these shards: a state that is held already, else one to be filled.
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

// What a worker is to hold, as it fills up.
struct Wanted {
  LayerStates own, copies;
};

// Where a worker has a unit; nothing if it has not.
const LayerState* place_of(const TransferUnit& unit, const LayerStates& own, const LayerStates& copies) {
  for (const LayerStates* states : {&own, &copies}) {
    const auto found = states->find(unit.layer_state);
    if (found != states->end() && span_of(found->second.layout, unit.slices.front())) return &found->second;
  }
  return nullptr;
}

const LayerState& known_place_of(const TransferUnit& unit, const LayerStates& own, const LayerStates& copies) {
  const LayerState* place = place_of(unit, own, copies);
  SAILOR_CHECK(place != nullptr, "a unit of layer state {} is not where it was said to be", unit.layer_state);
  return *place;
}

// Units that stay on this worker, though elsewhere in its flat tensors. What it said it holds may be of another state
// than the one that was agreed on: then it has forgotten it, and all that it wants is sent.
void copy_own(const TransferUnits& units, int rank, const HeldState& held, const Wanted& into) {
  for (const int id : units.wanted_by(rank)) {
    if (!std::ranges::binary_search(units.held_by(rank), id)) continue;
    const TransferUnit& unit = units.units()[static_cast<std::size_t>(id)];
    const LayerState* source = place_of(unit, held.layer_states, held.copies);
    if (source == nullptr) continue;
    const LayerState& target = known_place_of(unit, into.own, into.copies);
    if (!source->weights.is_same(target.weights)) copy_slices(unit.slices, *source, target);
  }
}

}  // namespace

std::array<at::Tensor, kStateTensors> tensors_of(const LayerState& state) {
  return {state.weights, state.momentum, state.variance};
}

void transfer_state(const TransferUnits& units, const std::vector<UnitMove>& moves, const Taker& taker, Group& everyone,
                    HeldState& held) {
  Wanted wanted{.own = wanted_states(units.model(), taker.wanted.own, held.layer_states),
                .copies = wanted_states(units.model(), taker.wanted.copies, held.copies)};
  copy_own(units, taker.rank, held, wanted);
  std::vector<std::unique_ptr<Work>> transfers;
  std::vector<Arrival> arrivals;
  for (int tag = 0; const UnitMove& move : moves) {
    const TransferUnit& unit = units.units()[static_cast<std::size_t>(move.unit)];
    for (int i = 0; i < kStateTensors; ++i, ++tag) {  // every tensor of a move has a tag of its own
      if (move.from == taker.rank) {
        const LayerState& state = known_place_of(unit, held.layer_states, held.copies);
        const at::Tensor message = packed(tensors_of(state)[i], spans_of(state.layout, unit.slices));
        transfers.push_back(everyone.send(message, move.to, tag));
      }
      if (move.to == taker.rank) {
        const LayerState& state = known_place_of(unit, wanted.own, wanted.copies);
        arrivals.emplace_back(tensors_of(state)[i], spans_of(state.layout, unit.slices), unit.elements);
        transfers.push_back(everyone.receive(arrivals.back().message(), move.from, tag));
      }
    }
  }
  for (const auto& transfer : transfers) transfer->wait();
  for (const Arrival& arrival : arrivals) arrival.unpack();
  held.arrived = std::move(wanted.own);  // only now: whoever loses a peer before brings nothing of it to a meeting
  held.arrived_copies = std::move(wanted.copies);
}

}  // namespace sailor::trainer
