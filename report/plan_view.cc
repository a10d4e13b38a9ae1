#include "report/plan_view.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "core/model/speed_grade.h"
#include "report/numbers.h"

namespace sailor::report {

namespace {

bool are_similar(const Replica& a, const Replica& b) {
  return a.pool == b.pool && a.tensor_parallel == b.tensor_parallel && std::abs(a.microbatches - b.microbatches) <= 1;
}

bool are_equal(const Stage& a, const Stage& b) {
  return a.last_layer - a.first_layer == b.last_layer - b.first_layer && a.replicas == b.replicas;
}

std::string text_of(const Plan& plan, const SimilarReplicas& group, const std::string& pool) {
  const std::vector<Replica>& replicas = plan.stages[group.stage].replicas;
  int fewest = replicas[group.replicas.front()].microbatches;
  int most = fewest;
  for (const std::size_t r : group.replicas) {
    fewest = std::min(fewest, replicas[r].microbatches);
    most = std::max(most, replicas[r].microbatches);
  }
  const Replica& first = replicas[group.replicas.front()];
  return fmt::format("{} of {} {}, with {}{}{}", counted(static_cast<long>(group.replicas.size()), "replica"),
                     first.tensor_parallel, pool, fewest < most ? fmt::format("{} to ", fewest) : "",
                     microbatches_text(most), group.replicas.size() > 1 ? " each" : "");
}

// What an accelerator is beside its type and zone: "spot, 2 times as slow".
std::string kind_text(const PoolKey& pool) {
  const std::string slow = pool.grade == 0 ? "" : fmt::format(", {:.3g} times as slow", slowdown_of(pool.grade));
  return (pool.provisioning == Provisioning::kSpot ? "spot" : "on demand") + slow;
}

const Replica& first_of(const Plan& plan, const SimilarReplicas& group) {
  return plan.stages[group.stage].replicas[group.replicas.front()];
}

}  // namespace

std::vector<StageRun> runs_of_equal_stages(const Plan& plan) {
  std::vector<StageRun> runs;
  for (std::size_t first = 0; first < plan.stages.size();) {
    std::size_t last = first;
    while (last + 1 < plan.stages.size() && are_equal(plan.stages[last + 1], plan.stages[first])) ++last;
    runs.push_back({first, last});
    first = last + 1;
  }
  return runs;
}

std::string stages_text(const StageRun& run) {
  return run.first == run.last ? fmt::format("{}", run.first) : fmt::format("{}-{}", run.first, run.last);
}

std::string layers_text(const Plan& plan, const StageRun& run) {
  const Stage& begin = plan.stages[run.first];
  if (run.first == run.last) return layers_text(begin);
  return fmt::format("{}-{}, {} each", begin.first_layer, plan.stages[run.last].last_layer - 1,
                     begin.last_layer - begin.first_layer);
}

std::vector<SimilarReplicas> similar_replicas(const Plan& plan, std::size_t stage) {
  const std::vector<Replica>& replicas = plan.stages[stage].replicas;
  std::vector<SimilarReplicas> groups;
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    const auto found = std::ranges::find_if(groups, [&](const SimilarReplicas& group) {
      return are_similar(replicas[group.replicas.front()], replicas[r]);
    });
    if (found == groups.end()) {
      groups.push_back({stage, {r}});
    } else {
      found->replicas.push_back(r);
    }
  }
  return groups;
}

std::string microbatches_text(long count) { return counted(count) + (count == 1 ? " microbatch" : " microbatches"); }

std::string similar_text(const Plan& plan, const SimilarReplicas& group) {
  return text_of(plan, group, pool_text(first_of(plan, group).pool));
}

std::string similar_text_without_zone(const Plan& plan, const SimilarReplicas& group) {
  const PoolKey& pool = first_of(plan, group).pool;
  return text_of(plan, group, fmt::format("{}, {}", pool.accelerator.str(), kind_text(pool)));
}

std::string pool_text(const PoolKey& pool) {
  return fmt::format("{} in {}, {}", pool.accelerator.str(), pool.zone.str(), kind_text(pool));
}

std::string layers_text(const Stage& stage) {
  const int last = stage.last_layer - 1;
  return stage.first_layer == last ? fmt::format("{}", last) : fmt::format("{}-{}", stage.first_layer, last);
}

std::string basis_text(const EstimateBasis& basis) {
  return fmt::format(
      "the execution model \"{}\": {}. If sums of gradients took half as long again, throughput would fall by {}; if "
      "messages between stages did, by {}.",
      basis.execution.name, basis.execution.source, percent(basis.sensitivity.slower_sums),
      percent(basis.sensitivity.slower_messages));
}

}  // namespace sailor::report
