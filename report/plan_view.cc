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

}  // namespace

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

std::string similar_text(const Plan& plan, const SimilarReplicas& group) {
  const std::vector<Replica>& replicas = plan.stages[group.stage].replicas;
  int fewest = replicas[group.replicas.front()].microbatches;
  int most = fewest;
  for (const std::size_t r : group.replicas) {
    fewest = std::min(fewest, replicas[r].microbatches);
    most = std::max(most, replicas[r].microbatches);
  }
  const Replica& first = replicas[group.replicas.front()];
  return fmt::format("{} of {} {}, with {}{}{}", counted(static_cast<long>(group.replicas.size()), "replica"),
                     first.tensor_parallel, pool_text(first.pool), fewest < most ? fmt::format("{} to ", fewest) : "",
                     microbatches_text(most), group.replicas.size() > 1 ? " each" : "");
}

std::string microbatches_text(long count) { return counted(count) + (count == 1 ? " microbatch" : " microbatches"); }

std::string pool_text(const PoolKey& pool) {
  const std::string slow = pool.grade == 0 ? "" : fmt::format(", {:.3g} times as slow", slowdown_of(pool.grade));
  return fmt::format("{} in {}, {}{}", pool.accelerator.str(), pool.zone.str(),
                     pool.provisioning == Provisioning::kSpot ? "spot" : "on demand", slow);
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
