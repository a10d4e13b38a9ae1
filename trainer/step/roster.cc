#include "trainer/step/roster.h"

#include <algorithm>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

template <class T>
T& grown(std::vector<T>& row, int index) {  // the element, after making the row long enough
  if (std::ssize(row) <= index) row.resize(static_cast<std::size_t>(index) + 1);
  return row[static_cast<std::size_t>(index)];
}

}  // namespace

Roster::Roster(const Assignment& assignment)
    : model_(assignment.model),
      shards_optimizer_(assignment.plan.sharded_optimizer),
      training_(assignment.training_workers()),
      all_(all_pieces(assignment.model)),
      shards_(assignment.workers.size()),
      pieces_(assignment.workers.size()) {
  for (const int piece : all_) holders_[piece] = {};
  for (int rank = 0; rank < std::ssize(assignment.workers); ++rank) {
    const auto& role = assignment.workers[static_cast<std::size_t>(rank)].role;
    if (!role) continue;
    roles_.push_back(*role);
    grown(grown(grown(ranks_, role->stage), role->replica), role->shard) = rank;
    const Stage& stage = assignment.plan.stages[static_cast<std::size_t>(role->stage)];
    const Replica& replica = stage.replicas[static_cast<std::size_t>(role->replica)];
    shards_[static_cast<std::size_t>(rank)] = {.index = role->shard, .degree = replica.tensor_parallel};
    auto& pieces = pieces_[static_cast<std::size_t>(rank)];
    pieces = pieces_of_stage(assignment.model, stage.first_layer, stage.last_layer);
    for (const int piece : pieces) holders_[piece].push_back(rank);
  }
}

int Roster::rank_of(const Role& role) const {
  return ranks_.at(static_cast<std::size_t>(role.stage))
      .at(static_cast<std::size_t>(role.replica))
      .at(static_cast<std::size_t>(role.shard));
}

std::vector<int> Roster::group_of(int rank) const {
  const Role& role = roles_.at(static_cast<std::size_t>(rank));
  return ranks_.at(static_cast<std::size_t>(role.stage)).at(static_cast<std::size_t>(role.replica));
}

const std::vector<int>& Roster::pieces_of(int rank) const { return pieces_.at(static_cast<std::size_t>(rank)); }

const std::vector<int>& Roster::holders_of(int piece) const { return holders_.at(piece); }

Piece Roster::computed_part(int rank, int piece) const {
  const Piece whole = piece_of(model_, piece);
  return part_of(whole, shard_ranges(whole, shard_of(rank)));
}

Piece Roster::held_part(int rank, int piece) const {
  if (!shards_optimizer_) return computed_part(rank, piece);
  return part_of(piece_of(model_, piece), kept_ranges(rank, piece));
}

std::vector<Parcel> Roster::parcels_of(int piece) const {
  const std::vector<int>& ranks = holders_of(piece);
  std::vector<Piece> parts;
  parts.reserve(ranks.size());
  for (const int rank : ranks) parts.push_back(computed_part(rank, piece));
  auto parcels = trainer::parcels_of(piece_of(model_, piece), parts);
  for (Parcel& parcel : parcels) {
    for (int& holder : parcel.holders) holder = ranks[static_cast<std::size_t>(holder)];
  }
  return parcels;
}

std::vector<Range> Roster::kept_ranges(int rank, int piece) const {
  std::vector<Range> kept;
  const auto parcels = parcels_of(piece);
  for (std::size_t i = 0; i < parcels.size(); ++i) {
    const Parcel& parcel = parcels[i];
    const auto found = std::ranges::find(parcel.holders, rank);
    if (found == parcel.holders.end()) continue;
    const auto position = static_cast<std::size_t>(found - parcel.holders.begin());
    const bool is_turn = (static_cast<std::size_t>(piece) + i) % parcel.holders.size() == position;
    if (shards_optimizer_) {
      std::ranges::copy(share_of(parcel, static_cast<int>(position)), std::back_inserter(kept));
    } else if (is_turn) {
      std::ranges::copy(parcel.ranges, std::back_inserter(kept));
    }
  }
  return kept;
}

std::vector<Range> share_of(const Parcel& parcel, int k) {
  std::vector<Range> share;
  for (const Range& range : parcel.ranges) {
    const Range part = share_of(range, k, static_cast<int>(parcel.holders.size()));
    if (part.begin < part.end) share.push_back(part);
  }
  return share;
}

}  // namespace sailor::trainer
