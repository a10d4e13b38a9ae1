#include "planner/problem/draft.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sailor {
namespace {

struct Share {
  double pass = 0;  // seconds of a microbatch
  int count = 0;    // replicas
  int level = 0;    // microbatches of each
};

// Whole microbatches below the even finish, then one more for whoever would be done first.
std::vector<ReplicaGroup> deal(const DraftStage& stage, std::vector<Share> shares, int microbatches) {
  double rate = 0;
  for (const Share& share : shares) rate += share.count / share.pass;
  const double finish = microbatches / rate;
  int left = microbatches;
  for (Share& share : shares) {
    share.level = static_cast<int>(std::floor(finish / share.pass));
    left -= share.level * share.count;
  }
  for (; left < 0; ++left) {  // floor() of a rounded quotient may give one too many
    auto& most = *std::ranges::max_element(shares, {}, [](const Share& s) { return s.level * s.pass; });
    left += most.count - 1;
    --most.level;
  }
  std::vector<ReplicaGroup> groups;
  while (left > 0) {
    auto& next = *std::ranges::min_element(shares, {}, [](const Share& s) { return (s.level + 1) * s.pass; });
    const auto& crew = stage.crews[static_cast<std::size_t>(&next - shares.data())];
    ++next.level;
    if (left < next.count) {
      groups.push_back({crew.pool, crew.degree, next.level - 1, next.count - left});
      next.count = left;
    }
    left -= next.count;
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    groups.push_back({stage.crews[i].pool, stage.crews[i].degree, shares[i].level, shares[i].count});
  }
  return groups;
}

// The fastest get one more where the microbatches do not divide evenly.
std::vector<ReplicaGroup> deal_evenly(const DraftStage& stage, const std::vector<Share>& shares, int microbatches) {
  std::vector<std::size_t> order(shares.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return shares[i].pass; });
  const int replicas = stage.replicas();
  int extra = microbatches % replicas;
  std::vector<ReplicaGroup> groups;
  for (const std::size_t i : order) {
    const Crew& crew = stage.crews[i];
    const int more = std::min(extra, crew.count);
    extra -= more;
    if (more > 0) groups.push_back({crew.pool, crew.degree, microbatches / replicas + 1, more});
    if (more < crew.count) groups.push_back({crew.pool, crew.degree, microbatches / replicas, crew.count - more});
  }
  return groups;
}

std::optional<GroupedStage> dealt_stage(const DraftStage& stage, const Draft& draft, const World& world,
                                        PlanSpace space) {
  const int microbatches = world.job.training.global_batch_size / draft.microbatch_size;
  if (stage.crews.empty() || stage.replicas() > microbatches) return std::nullopt;
  std::vector<Share> shares;
  shares.reserve(stage.crews.size());
  for (const Crew& crew : stage.crews) {
    const double pass =
        world.pass(crew.pool, {draft.microbatch_size, crew.degree}, {stage.first_layer, stage.last_layer});
    shares.push_back({pass, crew.count, 0});
  }
  GroupedStage result{
      stage.first_layer, stage.last_layer,
      space == PlanSpace::kPaper ? deal_evenly(stage, shares, microbatches) : deal(stage, shares, microbatches)};
  normalize(result);
  for (const ReplicaGroup& group : result.groups) {
    if (group.microbatches < 1) return std::nullopt;
  }
  return result;
}

}  // namespace

int DraftStage::replicas() const {
  int sum = 0;
  for (const Crew& crew : crews) sum += crew.count;
  return sum;
}

void DraftStage::add(const Crew& crew) {
  const auto same = std::ranges::find_if(crews, [&](const Crew& other) { return other.is_like(crew); });
  if (same == crews.end()) {
    crews.push_back(crew);
  } else {
    same->count += crew.count;
  }
  std::erase_if(crews, [](const Crew& one) { return one.count <= 0; });
  std::ranges::sort(crews);
}

Draft draft_of(const GroupedPlan& plan) {
  Draft draft{plan.microbatch_size, {}};
  for (const GroupedStage& stage : plan.stages) {
    DraftStage& into = draft.stages.emplace_back(DraftStage{stage.first_layer, stage.last_layer, {}});
    for (const ReplicaGroup& group : stage.groups) into.add({group.pool, group.tensor_parallel, group.count});
  }
  return draft;
}

bool is_paper_shaped(const Draft& draft) {
  const auto replicas = draft.stages.front().replicas();
  int fewest = draft.stages.front().last_layer - draft.stages.front().first_layer;
  int most = fewest;
  for (const DraftStage& stage : draft.stages) {
    if (stage.replicas() != replicas) return false;
    fewest = std::min(fewest, stage.last_layer - stage.first_layer);
    most = std::max(most, stage.last_layer - stage.first_layer);
  }
  return most - fewest <= 1;
}

double least_seconds(const Draft& draft, const World& world) {
  const int microbatches = world.job.training.global_batch_size / draft.microbatch_size;
  double before = 0;
  double longest = 0;
  for (const DraftStage& stage : draft.stages) {
    double rate = 0;
    double fastest = std::numeric_limits<double>::infinity();
    for (const Crew& crew : stage.crews) {
      const double pass =
          world.pass(crew.pool, {draft.microbatch_size, crew.degree}, {stage.first_layer, stage.last_layer});
      rate += crew.count / pass;
      fastest = std::min(fastest, pass);
    }
    longest = std::max(longest, before + microbatches / rate);
    before += fastest;
  }
  return longest;
}

DollarsPerHour gpu_price(const Draft& draft, const World& world) {
  DollarsPerHour price;
  for (const DraftStage& stage : draft.stages) {
    for (const Crew& crew : stage.crews) price += world.pool(crew.pool).price_per_gpu * (crew.count * crew.degree);
  }
  return price;
}

std::optional<GroupedPlan> dealt(const Draft& draft, const World& world, PlanSpace space) {
  if (space == PlanSpace::kPaper && !is_paper_shaped(draft)) return std::nullopt;
  GroupedPlan plan{draft.microbatch_size, world.job.training.global_batch_size / draft.microbatch_size, {}};
  plan.activation_checkpointing = world.savings.recomputes;
  plan.sharded_optimizer = world.savings.shards_optimizer;
  for (const DraftStage& stage : draft.stages) {
    auto one = dealt_stage(stage, draft, world, space);
    if (!one) return std::nullopt;
    plan.stages.push_back(*std::move(one));
  }
  return plan;
}

std::vector<std::pair<int, int>> even_layers(int layers, int stages) {
  std::vector<std::pair<int, int>> ranges;
  int first = 0;
  for (int stage = 0; stage < stages; ++stage) {
    const int last = first + layers / stages + (stage < layers % stages ? 1 : 0);
    ranges.emplace_back(first, last);
    first = last;
  }
  return ranges;
}

}  // namespace sailor
