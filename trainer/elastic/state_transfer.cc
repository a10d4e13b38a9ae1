#include "trainer/elastic/state_transfer.h"

#include <algorithm>
#include <array>

#include <ATen/ATen.h>

namespace sailor::trainer {
namespace {

constexpr int kTensors = 3;

std::array<at::Tensor, kTensors> tensors_of(const PieceState& state) {
  return {state.weights, state.momentum, state.variance};
}

// A unit on its way into a state.
struct Arrival {
  at::Tensor message;
  at::Tensor flat;
  std::vector<Block> blocks;
};

// Received in its place where that is one stretch of memory.
Arrival arrival_of(const at::Tensor& flat, std::vector<Block> blocks, std::int64_t elements) {
  const bool is_stretch = blocks.size() == 1 && blocks.front().rows == 1;
  return {.message = is_stretch ? packed(flat, blocks) : at::empty({elements}, flat.options()),
          .flat = flat,
          .blocks = std::move(blocks)};
}

// What the rank's role asks for: where its part is the one that it holds that state itself, else one to be filled.
PieceStates wanted_states(const Roster& roster, int rank, const PieceStates& held) {
  PieceStates states;
  for (const int piece : roster.pieces_of(rank)) {
    const Piece part = roster.held_part(rank, piece);
    const auto found = held.find(piece);
    const bool is_unchanged = found != held.end() && found->second.part == part;
    states[piece] = is_unchanged ? found->second : empty_state(part);
  }
  return states;
}

// Units that stay on this worker, though elsewhere in its flat tensors. What it said it holds may be of another state
// than the one that was agreed on: then it has forgotten it, and all that it wants is sent.
void copy_own(const StateUnits& units, int rank, const PieceStates& from, const PieceStates& to) {
  for (const int id : units.wanted_by(rank)) {
    if (!std::ranges::binary_search(units.held_by(rank), id)) continue;
    const StateUnit& unit = units.units()[static_cast<std::size_t>(id)];
    const auto source = from.find(unit.piece);
    if (source == from.end()) continue;
    const PieceState& target = to.at(unit.piece);
    if (!source->second.weights.is_same(target.weights)) copy_ranges(unit.ranges, source->second, target);
  }
}

}  // namespace

PieceStates transferred(const StateUnits& units, const std::vector<SliceMove>& moves, const Roster& roster, int rank,
                        Group& everyone, const PieceStates& held) {
  const PieceStates result = wanted_states(roster, rank, held);
  copy_own(units, rank, held, result);
  std::vector<std::unique_ptr<Transfer>> transfers;
  std::vector<Arrival> arrivals;
  for (int tag = 0; const SliceMove& move : moves) {
    const StateUnit& unit = units.units()[static_cast<std::size_t>(move.slice)];
    for (int i = 0; i < kTensors; ++i, ++tag) {  // every tensor of a move has a tag of its own
      if (move.from == rank) {
        const PieceState& state = held.at(unit.piece);
        const at::Tensor message = packed(tensors_of(state)[i], blocks_of(state.part, unit.ranges));
        transfers.push_back(everyone.send(message, move.to, tag));
      }
      if (move.to == rank) {
        const PieceState& state = result.at(unit.piece);
        arrivals.push_back(arrival_of(tensors_of(state)[i], blocks_of(state.part, unit.ranges), unit.elements));
        transfers.push_back(everyone.receive(arrivals.back().message, move.from, tag));
      }
    }
  }
  for (const auto& transfer : transfers) transfer->wait();
  for (const Arrival& arrival : arrivals) unpack(arrival.message, arrival.flat, arrival.blocks);
  return result;
}

}  // namespace sailor::trainer
