#include "trainer/elastic/state/state_transfer.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "core/model/check.h"
#include "trainer/elastic/state/arrival.h"

namespace sailor::trainer {
namespace {

// Of these parts: a state that is held already, else one to be filled.
PieceStates wanted_states(const ModelSpec& model, const HeldRanges& wanted, const PieceStates& held) {
  PieceStates states;
  for (const auto& [piece, ranges] : wanted) {
    const Piece part = part_of(piece_of(model, piece), ranges);
    const auto found = held.find(piece);
    const bool is_unchanged = found != held.end() && found->second.part == part;
    states[piece] = is_unchanged ? found->second : empty_state(part);
  }
  return states;
}

// What a worker is to hold, as it fills up.
struct Wanted {
  PieceStates own, copies;
};

// Where a worker has a unit; nothing if it has not.
const PieceState* place_of(const StateUnit& unit, const PieceStates& own, const PieceStates& copies) {
  for (const PieceStates* states : {&own, &copies}) {
    const auto found = states->find(unit.piece);
    if (found != states->end() && block_of(found->second.part, unit.ranges.front())) return &found->second;
  }
  return nullptr;
}

const PieceState& known_place_of(const StateUnit& unit, const PieceStates& own, const PieceStates& copies) {
  const PieceState* place = place_of(unit, own, copies);
  SAILOR_CHECK(place != nullptr, "a unit of piece {} is not where it was said to be", unit.piece);
  return *place;
}

// Units that stay on this worker, though elsewhere in its flat tensors. What it said it holds may be of another state
// than the one that was agreed on: then it has forgotten it, and all that it wants is sent.
void copy_own(const StateUnits& units, int rank, const HeldState& held, const Wanted& into) {
  for (const int id : units.wanted_by(rank)) {
    if (!std::ranges::binary_search(units.held_by(rank), id)) continue;
    const StateUnit& unit = units.units()[static_cast<std::size_t>(id)];
    const PieceState* source = place_of(unit, held.pieces, held.copies);
    if (source == nullptr) continue;
    const PieceState& target = known_place_of(unit, into.own, into.copies);
    if (!source->weights.is_same(target.weights)) copy_ranges(unit.ranges, *source, target);
  }
}

}  // namespace

std::array<at::Tensor, kStateTensors> tensors_of(const PieceState& state) {
  return {state.weights, state.momentum, state.variance};
}

void transfer_state(const StateUnits& units, const std::vector<SliceMove>& moves, const Taker& taker, Group& everyone,
                    HeldState& held) {
  Wanted wanted{.own = wanted_states(units.model(), taker.wanted.own, held.pieces),
                .copies = wanted_states(units.model(), taker.wanted.copies, held.copies)};
  copy_own(units, taker.rank, held, wanted);
  std::vector<std::unique_ptr<Transfer>> transfers;
  std::vector<Arrival> arrivals;
  for (int tag = 0; const SliceMove& move : moves) {
    const StateUnit& unit = units.units()[static_cast<std::size_t>(move.slice)];
    for (int i = 0; i < kStateTensors; ++i, ++tag) {  // every tensor of a move has a tag of its own
      if (move.from == taker.rank) {
        const PieceState& state = known_place_of(unit, held.pieces, held.copies);
        const at::Tensor message = packed(tensors_of(state)[i], blocks_of(state.part, unit.ranges));
        transfers.push_back(everyone.send(message, move.to, tag));
      }
      if (move.to == taker.rank) {
        const PieceState& state = known_place_of(unit, wanted.own, wanted.copies);
        arrivals.emplace_back(tensors_of(state)[i], blocks_of(state.part, unit.ranges), unit.elements);
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
