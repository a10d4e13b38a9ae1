#include "planner/replan/repair.h"

#include <algorithm>
#include <limits>

#include "core/model/node_packing.h"

namespace sailor {
namespace {

constexpr int kMostEmpty = 3;  // stages, each with two ways to be done without: more are a new plan, not a repair

// Replicas of pools that are gone are left out.
Draft known_part(const Plan& running, const World& world) {
  Draft draft{running.microbatch_size, {}};
  for (const Stage& stage : running.stages) {
    DraftStage& into = draft.stages.emplace_back(DraftStage{stage.first_layer, stage.last_layer, {}});
    for (const Replica& replica : stage.replicas) {
      const auto pool = std::ranges::find(world.cluster.pools, replica.pool, &Pool::key);
      if (pool == world.cluster.pools.end()) continue;
      into.add({static_cast<int>(pool - world.cluster.pools.begin()), replica.tensor_parallel, 1});
    }
  }
  return draft;
}

bool has_room(const Draft& draft, int pool, const World& world) {
  std::vector<GroupsOfSize> groups;
  int gpus = 0;
  for (const DraftStage& stage : draft.stages) {
    for (const Crew& crew : stage.crews) {
      if (crew.pool != pool) continue;
      groups.push_back({crew.degree, crew.count});
      gpus += crew.degree * crew.count;
    }
  }
  if (groups.empty()) return true;
  return gpus <= world.pool(pool).free_gpus() && pack_groups(world.pool(pool), groups).left_over == 0;
}

// How long the stage takes for all microbatches without one replica of the pool, the one of the highest degree.
std::optional<std::pair<double, Crew>> without_one(const DraftStage& stage, int pool, const World& world, int size) {
  std::optional<Crew> lost;
  for (const Crew& crew : stage.crews) {
    if (crew.pool == pool && (!lost || crew.degree > lost->degree)) lost = {crew.pool, crew.degree, -1};
  }
  if (!lost) return std::nullopt;
  DraftStage rest = stage;
  rest.add(*lost);
  double rate = 0;
  for (const Crew& crew : rest.crews) {
    rate += crew.count / world.pass(crew.pool, {size, crew.degree}, {rest.first_layer, rest.last_layer});
  }
  return std::pair(rate > 0 ? 1 / rate : std::numeric_limits<double>::infinity(), *lost);
}

void lose_one(Draft& draft, int pool, const World& world) {
  DraftStage* best = nullptr;
  std::optional<std::pair<double, Crew>> least;
  for (DraftStage& stage : draft.stages) {
    const auto loss = without_one(stage, pool, world, draft.microbatch_size);
    if (!loss || (least && loss->first >= least->first)) continue;
    least = loss;
    best = &stage;
  }
  best->add(least->second);
}

void merge_into(DraftStage& stage, const DraftStage& empty) {
  stage.first_layer = std::min(stage.first_layer, empty.first_layer);
  stage.last_layer = std::max(stage.last_layer, empty.last_layer);
}

}  // namespace

Draft what_is_left(const Plan& running, const World& world) {
  Draft draft = known_part(running, world);
  for (int pool = 0; pool < world.pools(); ++pool) {
    while (!has_room(draft, pool, world)) lose_one(draft, pool, world);
  }
  return draft;
}

std::vector<Draft> repairs(const Draft& left) {
  const auto is_empty = [](const DraftStage& stage) { return stage.crews.empty(); };
  const auto empty = std::ranges::find_if(left.stages, is_empty);
  if (empty == left.stages.end()) return {left};
  if (left.stages.size() == 1 || std::ranges::count_if(left.stages, is_empty) > kMostEmpty) return {};
  const auto at = empty - left.stages.begin();
  std::vector<Draft> found;
  for (const auto neighbour : {at - 1, at + 1}) {
    if (neighbour < 0 || neighbour >= std::ssize(left.stages)) continue;
    Draft next = left;
    merge_into(next.stages[static_cast<std::size_t>(neighbour)], *empty);
    next.stages.erase(next.stages.begin() + at);
    for (Draft& draft : repairs(next)) found.push_back(std::move(draft));
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace sailor
