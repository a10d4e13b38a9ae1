#include "trainer/step/roster.h"

#include <algorithm>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

template <class T>
T& grown(std::vector<T>& row, int index) {  // returns the element, after making the row long enough
  if (std::ssize(row) <= index) row.resize(static_cast<std::size_t>(index) + 1);
  return row[static_cast<std::size_t>(index)];
}

}  // namespace

Roster::Roster(const Assignment& assignment)
    : model_(assignment.model),
      shards_optimizer_(assignment.plan.sharded_optimizer),
      training_(assignment.training_workers()),
      all_(all_layer_states(assignment.model)),
      tensor_parallel_ranks_(assignment.workers.size()),
      layer_states_(assignment.workers.size()) {
  for (const int layer_state : all_) holders_[layer_state] = {};
  for (int rank = 0; rank < std::ssize(assignment.workers); ++rank) {
    const auto& role = assignment.workers[static_cast<std::size_t>(rank)].role;
    if (!role) continue;
    roles_.push_back(*role);
    grown(grown(grown(ranks_, role->stage), role->replica), role->shard) = rank;
    const Stage& stage = assignment.plan.stages[static_cast<std::size_t>(role->stage)];
    const Replica& replica = stage.replicas[static_cast<std::size_t>(role->replica)];
    tensor_parallel_ranks_[static_cast<std::size_t>(rank)] = {.index = role->shard,
                                                              .tensor_parallel = replica.tensor_parallel};
    auto& layer_states = layer_states_[static_cast<std::size_t>(rank)];
    layer_states = layer_states_of_stage(assignment.model, stage.first_layer, stage.last_layer);
    for (const int layer_state : layer_states) holders_[layer_state].push_back(rank);
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

const std::vector<int>& Roster::layer_states_of(int rank) const {
  return layer_states_.at(static_cast<std::size_t>(rank));
}

const std::vector<int>& Roster::holders_of(int layer_state) const { return holders_.at(layer_state); }

StateLayout Roster::computed_shard(int rank, int layer_state) const {
  const StateLayout whole = layout_of(model_, layer_state);
  return shard_of(whole, shard_slices(whole, tensor_parallel_rank_of(rank)));
}

StateLayout Roster::held_shard(int rank, int layer_state) const {
  if (!shards_optimizer_) return computed_shard(rank, layer_state);
  return shard_of(layout_of(model_, layer_state), saved_slices(rank, layer_state));
}

std::vector<TransferUnit> Roster::transfer_units_of(int layer_state) const {
  const std::vector<int>& ranks = holders_of(layer_state);
  std::vector<StateLayout> shards;
  shards.reserve(ranks.size());
  for (const int rank : ranks) shards.push_back(computed_shard(rank, layer_state));
  auto units = trainer::transfer_units_of(layout_of(model_, layer_state), shards);
  for (TransferUnit& unit : units) {
    for (int& holder : unit.holders) holder = ranks[static_cast<std::size_t>(holder)];
  }
  return units;
}

std::vector<Slice> Roster::saved_slices(int rank, int layer_state) const {
  std::vector<Slice> saved;
  const auto units = transfer_units_of(layer_state);
  for (std::size_t i = 0; i < units.size(); ++i) {
    const TransferUnit& unit = units[i];
    const auto found = std::ranges::find(unit.holders, rank);
    if (found == unit.holders.end()) continue;
    const auto position = static_cast<std::size_t>(found - unit.holders.begin());
    const bool is_turn = (static_cast<std::size_t>(layer_state) + i) % unit.holders.size() == position;
    if (shards_optimizer_) {
      std::ranges::copy(slices_of_holder(unit, static_cast<int>(position)), std::back_inserter(saved));
    } else if (is_turn) {
      std::ranges::copy(unit.slices, std::back_inserter(saved));
    }
  }
  return saved;
}

std::vector<Slice> slices_of_holder(const TransferUnit& unit, int k) {
  std::vector<Slice> slices;
  for (const Slice& slice : unit.slices) {
    const Slice of_holder = subslice(slice, k, static_cast<int>(unit.holders.size()));
    if (of_holder.begin < of_holder.end) slices.push_back(of_holder);
  }
  return slices;
}

}  // namespace sailor::trainer
