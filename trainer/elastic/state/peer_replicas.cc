#include "trainer/elastic/state/peer_replicas.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "trainer/elastic/state/worker_locations.h"

namespace sailor::trainer {
namespace {

bool is_on_one_node(const std::vector<int>& ranks, const std::vector<WorkerLocation>& locations) {
  const auto node_of = [&](int rank) { return locations[static_cast<std::size_t>(rank)].node; };
  return std::ranges::all_of(ranks, [&](int rank) { return node_of(rank) == node_of(ranks.front()); });
}

// Returns the slices that only one node has, the largest first. They have no backup holders yet.
std::vector<PeerReplica> endangered(const ModelSpec& model, const Roster& roster,
                                    const std::vector<WorkerLocation>& locations) {
  std::vector<PeerReplica> found;
  for (const int layer_state : roster.layer_states()) {
    const StateLayout whole = layout_of(model, layer_state);
    const std::vector<int>& ranks = roster.holders_of(layer_state);
    std::vector<StateLayout> shards;
    shards.reserve(ranks.size());
    for (const int rank : ranks) shards.push_back(roster.held_shard(rank, layer_state));
    for (TransferUnit& unit : transfer_units_of(whole, shards)) {
      std::vector<int> holders;
      holders.reserve(unit.holders.size());
      for (const int index : unit.holders) holders.push_back(ranks[static_cast<std::size_t>(index)]);
      if (holders.empty() || !is_on_one_node(holders, locations)) continue;
      found.push_back({layer_state, std::move(unit.slices), unit.elements, holders.front(), 0});
    }
  }
  std::ranges::stable_sort(found, std::greater(), &PeerReplica::elements);
  return found;
}

// Returns how well a worker fits as a backup holder; lower is better. The best one is the nearest that survives the
// loss of the holder's zone.
int preference(const WorkerLocation& holder, const WorkerLocation& backup_holder) {
  constexpr int kZone = 1, kRegion = 2;
  const int apart = distance(holder, backup_holder);
  return apart == kRegion ? 0 : apart == kZone ? 1 : 2;
}

}  // namespace

std::vector<PeerReplica> plan_peer_replicas(const Assignment& assignment, const Roster& roster) {
  if (!assignment.plan.peer_replicas) return {};
  const std::vector<WorkerLocation> locations = locations_of(assignment);
  std::vector<PeerReplica> peer_replicas = endangered(assignment.model, roster, locations);
  std::int64_t total = 0;
  for (const PeerReplica& replica : peer_replicas) total += replica.elements;
  std::vector<std::int64_t> kept(static_cast<std::size_t>(roster.training_workers()));
  std::erase_if(peer_replicas, [&](PeerReplica& replica) {
    const WorkerLocation& holder = locations[static_cast<std::size_t>(replica.owner)];
    std::vector<int> others;
    for (int rank = 0; rank < roster.training_workers(); ++rank) {
      if (locations[static_cast<std::size_t>(rank)].node != holder.node) others.push_back(rank);
    }
    if (others.empty()) return true;
    replica.backup_holder = *std::ranges::min_element(others, {}, [&](int rank) {
      const auto index = static_cast<std::size_t>(rank);
      const bool has_its_share = kept[index] * roster.training_workers() >= total;
      const int preference_here = has_its_share ? 0 : preference(holder, locations[index]);
      return std::tuple(has_its_share, preference_here, kept[index], rank);
    });
    kept[static_cast<std::size_t>(replica.backup_holder)] += replica.elements;
    return false;
  });
  return peer_replicas;
}

WorkerSlices worker_slices(const Roster& roster, const std::vector<PeerReplica>& peer_replicas, int rank) {
  WorkerSlices worker;
  for (const int layer_state : roster.layer_states_of(rank))
    worker.own[layer_state] = slices_of(roster.held_shard(rank, layer_state));
  for (const PeerReplica& replica : peer_replicas) {
    if (replica.backup_holder == rank)
      std::ranges::copy(replica.slices, std::back_inserter(worker.peer_replicas[replica.layer_state]));
  }
  for (auto& [layer_state, slices] : worker.peer_replicas) std::ranges::sort(slices);
  return worker;
}

}  // namespace sailor::trainer
