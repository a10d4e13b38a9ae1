#include "planner/replan/repair.h"

#include <algorithm>
#include <limits>

#include "core/model/node_packing.h"
#include "core/model/sort_unique.h"

namespace sailor {
namespace {

// Each empty stage merges with one of two neighbours. If there are more empty stages than this, a new plan is needed.
constexpr int kMostEmpty = 3;

// Converts the plan to a draft, without the replicas of pools that no longer exist.
Draft known_part(const Plan& running, const PlanningProblem& problem) {
  Draft draft{running.microbatch_size, techniques_of(running), {}};
  for (const Stage& stage : running.stages) {
    GroupedStage& into = draft.stages.emplace_back(GroupedStage{{stage.first_layer, stage.last_layer}, {}});
    for (const Replica& replica : stage.replicas) {
      const auto pool = std::ranges::find(problem.cluster.pools, replica.pool, &Pool::key);
      if (pool == problem.cluster.pools.end()) continue;
      into.add(draft_replicas(static_cast<int>(pool - problem.cluster.pools.begin()), replica.tensor_parallel, 1));
    }
  }
  return draft;
}

bool has_room(const Draft& draft, int pool, const PlanningProblem& problem) {
  std::vector<GroupsOfSize> groups;
  int gpus = 0;
  for (const GroupedStage& stage : draft.stages) {
    for (const ReplicaGroup& group : stage.groups) {
      if (group.pool != pool) continue;
      groups.push_back({group.tensor_parallel, group.count});
      gpus += group.gpus();
    }
  }
  if (groups.empty()) return true;
  return gpus <= problem.pool(pool).free_gpus() && pack_groups(problem.pool(pool), groups).left_over == 0;
}

// The consequence of removing one replica of a stage.
struct Loss {
  ReplicaGroup replica;  // its count is -1
  // Average seconds of a microbatch on the remaining replicas; infinite if none remain.
  double seconds_without = 0;
};

// Returns the consequence if the stage gives up a replica of this pool. It gives up the one with the largest
// tensor-parallel size.
std::optional<Loss> loss_of_one(const Draft& draft, const GroupedStage& stage, int pool,
                                const PlanningProblem& problem) {
  std::optional<ReplicaGroup> lost;
  for (const ReplicaGroup& group : stage.groups) {
    if (group.pool == pool && (!lost || group.tensor_parallel > lost->tensor_parallel)) {
      lost = draft_replicas(group.pool, group.tensor_parallel, -1);
    }
  }
  if (!lost) return std::nullopt;
  GroupedStage rest = stage;
  rest.add(*lost);
  double rate = 0;
  for (const ReplicaGroup& group : rest.groups) {
    rate += group.count /
            problem.pass(group.pool, {draft.microbatch_size, group.tensor_parallel}, rest.layers, draft.techniques);
  }
  return Loss{*lost, rate > 0 ? 1 / rate : std::numeric_limits<double>::infinity()};
}

// Removes a replica of this pool from the stage that is still the fastest without it.
void lose_one(Draft& draft, int pool, const PlanningProblem& problem) {
  GroupedStage* best = nullptr;
  std::optional<Loss> least;
  for (GroupedStage& stage : draft.stages) {
    const auto loss = loss_of_one(draft, stage, pool, problem);
    if (!loss || (least && loss->seconds_without >= least->seconds_without)) continue;
    least = loss;
    best = &stage;
  }
  best->add(least.value().replica);
}

void merge_into(GroupedStage& stage, const GroupedStage& empty) {
  stage.layers.first = std::min(stage.layers.first, empty.layers.first);
  stage.layers.last = std::max(stage.layers.last, empty.layers.last);
}

}  // namespace

Draft surviving_part(const Plan& running, const PlanningProblem& problem) {
  Draft draft = known_part(running, problem);
  for (int pool = 0; pool < problem.pools(); ++pool) {
    while (!has_room(draft, pool, problem)) lose_one(draft, pool, problem);
  }
  return draft;
}

std::vector<Draft> repairs(const Draft& surviving) {
  const auto is_empty = [](const GroupedStage& stage) { return stage.groups.empty(); };
  const auto empty = std::ranges::find_if(surviving.stages, is_empty);
  if (empty == surviving.stages.end()) return {surviving};
  if (surviving.stages.size() == 1 || std::ranges::count_if(surviving.stages, is_empty) > kMostEmpty) return {};
  const auto at = empty - surviving.stages.begin();
  std::vector<Draft> found;
  for (const auto neighbour : {at - 1, at + 1}) {
    if (neighbour < 0 || neighbour >= std::ssize(surviving.stages)) continue;
    Draft next = surviving;
    merge_into(next.stages[static_cast<std::size_t>(neighbour)], *empty);
    next.stages.erase(next.stages.begin() + at);
    for (Draft& draft : repairs(next)) found.push_back(std::move(draft));
  }
  sort_unique(found);
  return found;
}

}  // namespace sailor
