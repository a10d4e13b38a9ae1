#include "trainer/elastic/state/held_state.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "trainer/optim/adamw.h"

namespace sailor::trainer {
namespace {

// Whatever one of two states of a piece has.
PieceState joined(const ModelSpec& model, const PieceState& one, const PieceState& other) {
  if (one.part == other.part) return one;
  const Piece whole = piece_of(model, one.part.id);
  std::vector<Parcel> parcels = parcels_of(whole, {one.part, other.part});
  std::erase_if(parcels, [](const Parcel& parcel) { return parcel.holders.empty(); });
  std::vector<Range> ranges;
  for (const Parcel& parcel : parcels) std::ranges::copy(parcel.ranges, std::back_inserter(ranges));
  PieceState both = empty_state(part_of(whole, neighbours_joined(std::move(ranges))));
  for (const Parcel& parcel : parcels) copy_ranges(parcel.ranges, parcel.holders.front() == 0 ? one : other, both);
  return both;
}

void join_states(const ModelSpec& model, const PieceStates& from, PieceStates& into) {
  for (const auto& [id, state] : from) {
    const auto [found, is_new] = into.try_emplace(id, state);
    if (!is_new) found->second = joined(model, found->second, state);
  }
}

HeldRanges ranges_of(const PieceStates& states) {
  HeldRanges ranges;
  for (const auto& [id, state] : states) ranges[id] = ranges_of(state.part);
  return ranges;
}

}  // namespace

Holding HeldState::holding(const Account& account) const {
  return {.account = account,
          .slices = {},
          .loss = loss,
          .next_loss = next_loss,
          .reached = reached,
          .first_loss = first_loss};
}

HeldSlices HeldState::slices() const { return {.own = ranges_of(pieces), .copies = ranges_of(copies)}; }

void HeldState::keep_arrived() {
  pieces = std::exchange(arrived, {});
  copies = std::exchange(arrived_copies, {});
  reached = step;
}

void HeldState::join_arrived(const ModelSpec& model) {
  join_states(model, std::exchange(arrived, {}), pieces);
  join_states(model, std::exchange(arrived_copies, {}), copies);
}

void HeldState::join_copies(const ModelSpec& model) { join_states(model, std::exchange(copies, {}), pieces); }

void HeldState::join(const ModelSpec& model, HeldState other) {
  join_states(model, other.pieces, pieces);
  join_states(model, other.copies, copies);
}

void HeldState::apply_gradients(const TrainingSpec& training) {
  if (squared_norm == kStepLeftOut) {
    gradients.clear();
    copied_gradients.clear();
  }
  const double scale = clip_scale(training.optimizer, squared_norm);
  for (const auto& [id, gradient] : gradients) {
    apply_adamw(pieces.at(id), gradient, training, step + 1, scale);
  }
  for (const auto& [id, gradient] : copied_gradients) {
    apply_adamw(copies.at(id), gradient, training, step + 1, scale);
  }
  ++step;
  if (step == 1) first_loss = next_loss;
  loss = next_loss;
  reached = std::max(reached, step);
  forget_gradients();
}

void HeldState::forget_gradients() {
  gradients.clear();
  copied_gradients.clear();
  squared_norm = next_loss = 0;
}

}  // namespace sailor::trainer
