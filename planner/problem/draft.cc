#include "planner/problem/draft.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

namespace sailor {
namespace {

// The share of the microbatches that each replica of a group gets.
struct Share {
  double pass = 0;  // seconds of a microbatch, forward and backward
  int replicas = 0;
  int microbatches = 0;  // microbatches of each replica
};

ReplicaGroup with_microbatches(ReplicaGroup group, int microbatches, int count) {
  group.microbatches = microbatches;
  group.count = count;
  return group;
}

// If microbatches could be divided, all replicas would finish at the same time. Every replica gets the number of whole
// microbatches that it completes by then. The remaining microbatches go, one by one, to the replica that would finish
// its next one first.
ReplicaGroups partition_by_speed(const GroupedStage& stage, std::vector<Share> shares, int microbatches) {
  double rate = 0;
  for (const Share& share : shares) rate += share.replicas / share.pass;
  const double finish = microbatches / rate;
  int left = microbatches;
  for (Share& share : shares) {
    share.microbatches = static_cast<int>(std::floor(finish / share.pass));
    left -= share.microbatches * share.replicas;
  }
  for (; left < 0; ++left) {  // floor() of a rounded quotient may give one too many
    auto& most = *std::ranges::max_element(shares, {}, [](const Share& s) { return s.microbatches * s.pass; });
    left += most.replicas - 1;
    --most.microbatches;
  }
  ReplicaGroups groups;
  while (left > 0) {
    auto& next = *std::ranges::min_element(shares, {}, [](const Share& s) { return (s.microbatches + 1) * s.pass; });
    const ReplicaGroup& group = stage.groups[static_cast<std::size_t>(&next - shares.data())];
    ++next.microbatches;
    if (left < next.replicas) {
      groups.push_back(with_microbatches(group, next.microbatches - 1, next.replicas - left));
      next.replicas = left;
    }
    left -= next.replicas;
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    groups.push_back(with_microbatches(stage.groups[i], shares[i].microbatches, shares[i].replicas));
  }
  return groups;
}

// Gives each replica the same number of microbatches. If the division leaves a remainder, the fastest replicas get one
// more.
ReplicaGroups partition_evenly(const GroupedStage& stage, const std::vector<Share>& shares, int microbatches) {
  std::vector<std::size_t> order(shares.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return shares[i].pass; });
  const int replicas = stage.replicas();
  int extra = microbatches % replicas;
  ReplicaGroups groups;
  for (const std::size_t i : order) {
    const ReplicaGroup& group = stage.groups[i];
    const int more = std::min(extra, group.count);
    extra -= more;
    if (more > 0) groups.push_back(with_microbatches(group, microbatches / replicas + 1, more));
    if (more < group.count) groups.push_back(with_microbatches(group, microbatches / replicas, group.count - more));
  }
  return groups;
}

double pass_of(const ReplicaGroup& group, const GroupedStage& stage, const Draft& draft,
               const PlanningProblem& problem) {
  return problem.pass(group.pool, {draft.microbatch_size, group.tensor_parallel}, stage.layers, draft.techniques);
}

std::optional<GroupedStage> partitioned_stage(const GroupedStage& stage, const Draft& draft,
                                              const PlanningProblem& problem, PlanSpace space) {
  const int microbatches = problem.job.training.global_batch_size / draft.microbatch_size;
  if (stage.groups.empty() || stage.replicas() > microbatches) return std::nullopt;
  std::vector<Share> shares;
  shares.reserve(stage.groups.size());
  for (const ReplicaGroup& group : stage.groups) {
    shares.push_back({pass_of(group, stage, draft, problem), group.count, 0});
  }
  GroupedStage result{stage.layers, space == PlanSpace::kPaper ? partition_evenly(stage, shares, microbatches)
                                                               : partition_by_speed(stage, shares, microbatches)};
  normalize(result);
  for (const ReplicaGroup& group : result.groups) {
    if (group.microbatches < 1) return std::nullopt;
  }
  return result;
}

// Returns whether all stages have the same number of replicas, and numbers of layers that differ by at most one.
bool is_paper_shaped(const Draft& draft) {
  const auto replicas = draft.stages.front().replicas();
  int fewest = draft.stages.front().layers.size();
  int most = fewest;
  for (const GroupedStage& stage : draft.stages) {
    if (stage.replicas() != replicas) return false;
    fewest = std::min(fewest, stage.layers.size());
    most = std::max(most, stage.layers.size());
  }
  return most - fewest <= 1;
}

}  // namespace

Draft draft_of(const GroupedPlan& plan) {
  Draft draft{plan.microbatch_size, plan.techniques, {}};
  for (const GroupedStage& stage : plan.stages) {
    GroupedStage& into = draft.stages.emplace_back(GroupedStage{stage.layers, {}});
    for (const ReplicaGroup& group : stage.groups) into.add(with_microbatches(group, 0, group.count));
  }
  return draft;
}

double least_seconds(const Draft& draft, const PlanningProblem& problem) {
  const int microbatches = problem.job.training.global_batch_size / draft.microbatch_size;
  double before = 0;
  double longest = 0;
  for (const GroupedStage& stage : draft.stages) {
    double rate = 0;
    double fastest = std::numeric_limits<double>::infinity();
    for (const ReplicaGroup& group : stage.groups) {
      const double pass = pass_of(group, stage, draft, problem);
      rate += group.count / pass;
      fastest = std::min(fastest, pass);
    }
    longest = std::max(longest, before + microbatches / rate);
    before += fastest;
  }
  return longest;
}

DollarsPerHour gpu_price(std::span<const GroupedStage> stages, const PlanningProblem& problem) {
  DollarsPerHour price;
  for (const GroupedStage& stage : stages) {
    for (const ReplicaGroup& group : stage.groups) price += problem.pool(group.pool).price_per_gpu * group.gpus();
  }
  return price;
}

std::vector<ReplicaGroup> unused_groups(const Draft& draft, const PlanningProblem& problem) {
  std::vector<ReplicaGroup> unused;
  for (int pool = 0; pool < problem.pools(); ++pool) {
    std::vector<GroupsOfSize> used = groups_of_pool(draft.stages, pool);
    int left = problem.pool(pool).free_gpus();
    for (const GroupsOfSize& group : used) left -= group.size * group.count;
    for (const int size : problem.tensor_parallel_sizes | std::views::reverse) {
      if (left < size) continue;
      used.push_back({size, left / size});
      const int count = left / size - pack_groups(problem.pool(pool), used).left_over;
      used.back().count = std::max(0, count);
      if (count <= 0) continue;
      unused.push_back(draft_replicas(pool, size, count));
      left -= count * size;
    }
  }
  return unused;
}

double speed_of(const GroupedStage& stage, const Draft& draft, const PlanningProblem& problem) {
  const int middle = problem.layers() / 2;
  double speed = 0;
  for (const ReplicaGroup& group : stage.groups) {
    const ProfilePoint point{draft.microbatch_size, group.tensor_parallel};
    speed += group.count / problem.pass(group.pool, point, {middle, middle + 1}, draft.techniques);
  }
  return speed;
}

std::optional<GroupedPlan> partitioned(const Draft& draft, const PlanningProblem& problem, PlanSpace space) {
  if (space == PlanSpace::kPaper && !is_paper_shaped(draft)) return std::nullopt;
  GroupedPlan plan{
      draft.microbatch_size, problem.job.training.global_batch_size / draft.microbatch_size, {}, draft.techniques};
  for (const GroupedStage& stage : draft.stages) {
    auto one = partitioned_stage(stage, draft, problem, space);
    if (!one) return std::nullopt;
    plan.stages.push_back(*std::move(one));
  }
  return plan;
}

std::vector<LayerRange> even_layers(int layers, int stages) {
  std::vector<LayerRange> ranges;
  int first = 0;
  for (int stage = 0; stage < stages; ++stage) {
    const int last = first + layers / stages + (stage < layers % stages ? 1 : 0);
    ranges.push_back({first, last});
    first = last;
  }
  return ranges;
}

}  // namespace sailor
