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

struct Arrival {
  at::Tensor message;
  at::Tensor flat;
  std::vector<Block> blocks;
};

// Units that stay on this worker, though elsewhere in its flat tensors.
void copy_own(const StateUnit& unit, const PieceState& from, const PieceState& to) {
  const auto source = blocks_of(from.part, unit.ranges);
  const auto target = blocks_of(to.part, unit.ranges);
  for (int i = 0; i < kTensors; ++i) unpack(packed(tensors_of(from)[i], source), tensors_of(to)[i], target);
}

}  // namespace

PieceStates transferred(const StateUnits& units, const std::vector<UnitMove>& moves, const Roster& roster, int rank,
                        Group& everyone, const PieceStates& held) {
  PieceStates result;
  for (const int piece : roster.pieces_of(rank)) {
    const Piece part = roster.held_part(rank, piece);
    const auto found = held.find(piece);
    const bool is_unchanged = found != held.end() && found->second.part == part;
    result[piece] = is_unchanged ? found->second : empty_state(part);
  }
  for (const int unit : units.wanted_by(rank)) {
    const StateUnit& what = units.units()[static_cast<std::size_t>(unit)];
    if (!std::ranges::binary_search(units.held_by(rank), unit)) continue;
    const PieceState& from = held.at(what.piece);
    if (!(from.part == result.at(what.piece).part)) copy_own(what, from, result.at(what.piece));
  }
  std::vector<std::unique_ptr<Transfer>> transfers;
  std::vector<Arrival> arrivals;
  for (int move = 0; move < std::ssize(moves); ++move) {
    const auto& [unit, from, to] = moves[static_cast<std::size_t>(move)];
    const StateUnit& what = units.units()[static_cast<std::size_t>(unit)];
    for (int i = 0; i < kTensors; ++i) {
      const int tag = move * kTensors + i;
      if (from == rank) {
        const PieceState& state = held.at(what.piece);
        transfers.push_back(everyone.send(packed(tensors_of(state)[i], blocks_of(state.part, what.ranges)), to, tag));
      }
      if (to == rank) {
        const PieceState& state = result.at(what.piece);
        arrivals.push_back(
            {at::empty({what.elements}, at::kFloat), tensors_of(state)[i], blocks_of(state.part, what.ranges)});
        transfers.push_back(everyone.receive(arrivals.back().message, from, tag));
      }
    }
  }
  for (const auto& transfer : transfers) transfer->wait();
  for (const Arrival& arrival : arrivals) unpack(arrival.message, arrival.flat, arrival.blocks);
  return result;
}

}  // namespace sailor::trainer
