#include "trainer/elastic/state/peer_replicas.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "trainer/elastic/state/worker_locations.h"

namespace sailor::trainer {
namespace {

bool is_on_one_node(const std::vector<int>& ranks, const std::vector<Site>& sites) {
  const auto node_of = [&](int rank) { return sites[static_cast<std::size_t>(rank)].node; };
  return std::ranges::all_of(ranks, [&](int rank) { return node_of(rank) == node_of(ranks.front()); });
}

// Slices without a second node, the largest first; nobody keeps them yet.
std::vector<StateCopy> endangered(const ModelSpec& model, const Roster& roster, const std::vector<Site>& sites) {
  std::vector<StateCopy> found;
  for (const int layer_state : roster.layer_states()) {
    const StateLayout whole = layout_of(model, layer_state);
    const std::vector<int>& ranks = roster.holders_of(layer_state);
    std::vector<StateLayout> shards;
    shards.reserve(ranks.size());
    for (const int rank : ranks) shards.push_back(roster.held_shard(rank, layer_state));
    for (TransferUnit& unit : transfer_units_of(whole, shards)) {
      std::vector<int> holders;
      for (const int index : unit.holders) holders.push_back(ranks[static_cast<std::size_t>(index)]);
      if (holders.empty() || !is_on_one_node(holders, sites)) continue;
      found.push_back({layer_state, std::move(unit.slices), unit.elements, holders.front(), 0});
    }
  }
  std::ranges::stable_sort(found, std::greater(), &StateCopy::elements);
  return found;
}

// The best of other nodes for a copy: nearest of those that the loss of a zone does not take too.
int preference(const Site& holder, const Site& keeper) {
  constexpr int kZone = 1, kRegion = 2;
  const int apart = distance(holder, keeper);
  return apart == kRegion ? 0 : apart == kZone ? 1 : 2;
}

}  // namespace

std::vector<StateCopy> plan_copies(const Assignment& assignment, const Roster& roster) {
  if (assignment.redundancy == Redundancy::kNone) return {};
  const std::vector<Site> sites = sites_of(assignment);
  std::vector<StateCopy> copies = endangered(assignment.model, roster, sites);
  std::int64_t total = 0;
  for (const StateCopy& copy : copies) total += copy.elements;
  std::vector<std::int64_t> kept(static_cast<std::size_t>(roster.training_workers()));
  std::erase_if(copies, [&](StateCopy& copy) {
    const Site& holder = sites[static_cast<std::size_t>(copy.holder)];
    std::vector<int> others;
    for (int rank = 0; rank < roster.training_workers(); ++rank) {
      if (sites[static_cast<std::size_t>(rank)].node != holder.node) others.push_back(rank);
    }
    if (others.empty()) return true;
    copy.keeper = *std::ranges::min_element(others, {}, [&](int rank) {
      const auto index = static_cast<std::size_t>(rank);
      const bool has_its_share = kept[index] * roster.training_workers() >= total;
      const int wish = has_its_share ? 0 : preference(holder, sites[index]);
      return std::tuple(has_its_share, wish, kept[index], rank);
    });
    kept[static_cast<std::size_t>(copy.keeper)] += copy.elements;
    return false;
  });
  return copies;
}

WorkerSlices worker_slices(const Roster& roster, const std::vector<StateCopy>& copies, int rank) {
  WorkerSlices worker;
  for (const int layer_state : roster.layer_states_of(rank))
    worker.own[layer_state] = slices_of(roster.held_shard(rank, layer_state));
  for (const StateCopy& copy : copies) {
    if (copy.keeper == rank) std::ranges::copy(copy.slices, std::back_inserter(worker.copies[copy.layer_state]));
  }
  for (auto& [layer_state, slices] : worker.copies) std::ranges::sort(slices);
  return worker;
}

}  // namespace sailor::trainer
