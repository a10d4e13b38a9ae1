// Lower bounds for the planner's proofs. Each bound is a term of simulate() that assumes the best choice for everything
// that the stage's other groups decide. If the Sailor paper's formula gives the time of some plans, work alone is
// bounded: the formula has no latency, other rates of messages and sums, and the update of one layer.
#include <algorithm>
#include <iterator>
#include <limits>
#include <vector>

#include "simulator/job_simulation.h"

namespace sailor {
namespace {

Ring ring_of(int members, int members_per_node, const Link& inside, const Link& between) {
  return {.members = members,
          .members_per_node = std::min(members_per_node, members),
          .tensor_parallel = 1,
          .inside = inside,
          .between = between,
          .nic = {}};
}

}  // namespace

// ring_of() uses the slowest link of all pairs of pools, by a probe; the link within this group's own pool is one of
// them. It puts at most as many members on a node as fit on a node of this group's pool. NICs are left out, as they can
// only add time.
Seconds JobSimulation::least_reduction(const StageShape& shape, int replicas) const {
  if (replicas < 2 || execution_.uses_paper_formula) return Seconds(0);
  const RangeNeeds needs = tables_.needs(shape.pool, shape.point, shape.activation_checkpointing).range(shape.layers);
  // A sharded optimizer exchanges this, which never takes longer than without sharding.
  const SyncedBytes bytes = synced_bytes(job_.training.precision, true);
  const Bytes shard(needs.parameters * bytes.reduced);
  const Bytes gathered(needs.parameters * bytes.gathered);
  const Bytes probe(1e6);
  const auto accelerator_of = [&](int pool) -> const Accelerator& {
    return cluster_.pools[static_cast<std::size_t>(pool)].key.accelerator;
  };
  // Each figure is the best of all pools of this GPU type.
  Seconds fastest_pair(std::numeric_limits<double>::infinity());
  int most_near = 1;
  std::vector<Link> insides;
  for (int pool = 0; pool < std::ssize(cluster_.pools); ++pool) {
    if (accelerator_of(pool) != accelerator_of(shape.pool)) continue;
    fastest_pair = std::min(fastest_pair, links_.between(pool, pool).transfer(probe));
    const int gpus = cluster_.pools[static_cast<std::size_t>(pool)].gpus_per_node;
    most_near = std::max(most_near, gpus / shape.point.tensor_parallel);
    if (std::ranges::find(insides, links_.inside_node(pool)) == insides.end()) {
      insides.push_back(links_.inside_node(pool));
    }
  }
  Seconds least(std::numeric_limits<double>::infinity());
  for (const Link& between : links_.distinct()) {
    if (between.transfer(probe) < fastest_pair) continue;
    for (const Link& inside : insides) {
      for (int near = 1; near <= most_near; ++near) {
        const Ring ring = ring_of(replicas, near, inside, between);
        const Seconds scattered = summed(shard, ring);
        const Seconds returned = gathered == shard ? scattered : summed(gathered, ring);
        least = std::min(least, (scattered + returned) / 2);
      }
    }
  }
  return least;
}

LinkRange JobSimulation::link_range(const StageShape& shape, bool in_one_node) const {
  const Bytes message =
      tables_.needs(shape.pool, shape.point, shape.activation_checkpointing).output(shape.layers.last - 1);
  const Seconds any = links_.distinct().front().transfer(message);
  LinkRange range{any, any};
  Seconds latency = links_.distinct().front().latency;
  for (const Link& link : links_.distinct()) {
    range.most = std::max(range.most, link.transfer(message));
    latency = std::min(latency, link.latency);
  }
  range.least = std::min(range.least, latency + messages_.least_between_nodes(shape.point.tensor_parallel, message));
  for (int pool = 0; pool < std::ssize(cluster_.pools); ++pool) {
    const Pool& from = cluster_.pools[static_cast<std::size_t>(pool)];
    Seconds shared = links_.nic(pool).occupancy(message) * from.gpus_per_node;
    for (int to = 0; to < std::ssize(cluster_.pools); ++to) {
      const int together = std::max(from.gpus_per_node, cluster_.pools[static_cast<std::size_t>(to)].gpus_per_node);
      shared = std::max(shared, links_.path(pool, to).occupancy(message) * together);
    }
    for (const Link& link : links_.distinct()) range.most = std::max(range.most, link.latency + shared);
    if (in_one_node) {
      const MessageEnd end{pool, shape.point.tensor_parallel};
      const Seconds inside = links_.inside_node(pool).latency + messages_.inside_node(end, end, message);
      range.least = std::min(range.least, inside);
    }
  }
  if (execution_.uses_paper_formula) range.least = Seconds(0);
  return range;
}

MessageTime JobSimulation::least_message(const StageShape& shape, int to_pool, bool in_one_node) const {
  const Bytes message =
      tables_.needs(shape.pool, shape.point, shape.activation_checkpointing).output(shape.layers.last - 1);
  const MessageEnd from{shape.pool, shape.point.tensor_parallel};
  const auto key_of = [&](int pool) { return cluster_.pools[static_cast<std::size_t>(pool)].key; };
  const bool may_be_inside = in_one_node && key_of(to_pool).is_like(key_of(shape.pool));
  MessageTime least{links_.between(shape.pool, to_pool).latency, Seconds(std::numeric_limits<double>::infinity())};
  for (const int tensor_parallel : messages_.tensor_parallel_sizes()) {
    const MessageEnd to{to_pool, tensor_parallel};
    least.occupancy = std::min(least.occupancy, messages_.between_nodes(from, to, message));
    if (may_be_inside) least.occupancy = std::min(least.occupancy, messages_.inside_node(from, to, message));
  }
  if (may_be_inside) least.latency = std::min(least.latency, links_.inside_node(to_pool).latency);
  if (execution_.uses_paper_formula) return {Seconds(0), Seconds(0)};
  return least;
}

}  // namespace sailor
