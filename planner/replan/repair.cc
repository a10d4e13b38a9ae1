#include "planner/replan/repair.h"

#include <algorithm>
#include <cmath>
#include <functional>
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
  const std::vector<GroupsOfSize> groups = groups_of_pool(draft.stages, pool);
  int gpus = 0;
  for (const GroupsOfSize& group : groups) gpus += group.size * group.count;
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

// Leaves out groups that are so slow that their share of the layers would be less than half a layer.
std::vector<ReplicaGroup> useful_groups(const Draft& draft, const PlanningProblem& problem) {
  std::vector<ReplicaGroup> unused = unused_groups(draft, problem);
  const auto speed_of_one = [&](const ReplicaGroup& group) {
    return speed_of({{}, {draft_replicas(group.pool, group.tensor_parallel, 1)}}, draft, problem);
  };
  double all = 0;
  for (const GroupedStage& stage : draft.stages) all += speed_of(stage, draft, problem);
  for (const ReplicaGroup& group : unused) all += group.count * speed_of_one(group);
  std::erase_if(unused, [&](const ReplicaGroup& group) { return problem.layers() * speed_of_one(group) < all / 2; });
  return unused;
}

// Takes groups that have this many GPUs together at most, the largest first.
std::vector<ReplicaGroup> take(std::vector<ReplicaGroup>& groups, int gpus) {
  std::ranges::stable_sort(groups, std::greater<>(), &ReplicaGroup::tensor_parallel);
  std::vector<ReplicaGroup> taken;
  for (ReplicaGroup& group : groups) {
    for (; group.count > 0 && group.tensor_parallel <= gpus; --group.count) {
      taken.push_back(draft_replicas(group.pool, group.tensor_parallel, 1));
      gpus -= group.tensor_parallel;
    }
  }
  return taken;
}

int gpus_of(const GroupedStage& stage) {
  int gpus = 0;
  for (const ReplicaGroup& group : stage.groups) gpus += group.gpus();
  return gpus;
}

int gpus_of(const Stage& stage) {
  int gpus = 0;
  for (const Replica& replica : stage.replicas) gpus += replica.tensor_parallel;
  return gpus;
}

// Gives every stage layers in proportion to its speed, and at least one. Returns false if there are too many stages.
bool divide_layers(Draft& draft, const PlanningProblem& problem) {
  const auto stages = static_cast<int>(draft.stages.size());
  if (stages == 0 || stages > problem.layers()) return false;
  double all = 0;
  for (const GroupedStage& stage : draft.stages) all += speed_of(stage, draft, problem);
  double until = 0;
  int first = 0;
  for (int i = 0; i < stages; ++i) {
    GroupedStage& stage = draft.stages[static_cast<std::size_t>(i)];
    until += speed_of(stage, draft, problem);
    const int due = static_cast<int>(std::lround(problem.layers() * until / all));
    const int last =
        i + 1 == stages ? problem.layers() : std::clamp(due, first + 1, problem.layers() - (stages - 1 - i));
    stage.layers = {first, last};
    first = last;
  }
  return true;
}

// What takes the place of lost replicas, and whether all that replaces those of a stage becomes one stage.
struct Replacement {
  std::vector<ReplicaGroup> unused;
  bool is_shared = false;
};

std::optional<Draft> refilled(const Plan& running, const Draft& surviving, Replacement replacement,
                              const PlanningProblem& problem) {
  Draft draft{surviving.microbatch_size, surviving.techniques, {}};
  bool is_refilled = false;
  for (std::size_t i = 0; i < surviving.stages.size(); ++i) {
    if (!surviving.stages[i].groups.empty()) draft.stages.push_back(surviving.stages[i]);
    const int lost = gpus_of(running.stages[i]) - gpus_of(surviving.stages[i]);
    const std::vector<ReplicaGroup> taken = take(replacement.unused, lost);
    for (const ReplicaGroup& group : taken) {
      if (!replacement.is_shared || &group == &taken.front()) draft.stages.push_back({});
      draft.stages.back().add(group);
      is_refilled = true;
    }
  }
  if (!is_refilled || !divide_layers(draft, problem)) return std::nullopt;
  return draft;
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

std::vector<Draft> refills(const Plan& running, const Draft& surviving, const PlanningProblem& problem) {
  std::vector<Draft> found;
  const std::vector<ReplicaGroup> useful = useful_groups(surviving, problem);
  std::vector<ReplicaGroup> fast = useful;
  std::erase_if(fast, [&](const ReplicaGroup& group) { return problem.pool(group.pool).key.grade > 0; });
  for (const auto& unused : {useful, fast}) {
    for (const bool is_shared : {false, true}) {
      if (auto draft = refilled(running, surviving, {unused, is_shared}, problem)) found.push_back(*std::move(draft));
    }
  }
  sort_unique(found);
  return found;
}

}  // namespace sailor
