#include "operator/reconcile/decide/excluded_gpus.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/model/counted.h"
#include "operator/model/scheduling_rules.h"
#include "operator/reconcile/decide/quarantine.h"
#include "operator/render/pod.h"

namespace sailor {
namespace {

constexpr std::size_t kNamedObstacles = 5;  // of the largest numbers of GPUs

// Returns on which nodes the GPUs are, such as "cordoned nodes"; empty: nothing excludes the node. The order is that in
// which a user would want to know: what concerns the node before what the job says itself.
std::string obstacle_of(const Observation& observation, const SchedulingRules& rules, const NodeView& node) {
  if (node.is_terminating) return "nodes that are about to be terminated";
  if (node.is_cordoned) return "cordoned nodes";
  if (!node.is_ready) return "nodes that are not ready";
  if (const std::string rule = rules.obstacle(node); !rule.empty()) return "nodes " + rule;
  if (is_quarantined(observation, node)) {
    return "nodes that the job avoids for now, because a pod there did not start, did not answer or failed";
  }
  const bool is_shared = node.used_gpus() > 0 && observation.cluster->pools.at(node.pool).whole_nodes;
  return is_shared ? "nodes that other pods use in part, in pools with wholeNodes" : "";
}

}  // namespace

std::string excluded_gpus_text(const Observation& observation) {
  const SchedulingRules rules(scheduling_spec(observation.job.pod_template));
  std::map<std::string, int> by_obstacle;
  int sum = 0;
  for (const NodeView& node : observation.cluster->nodes) {
    const int free = node.gpus - node.used_gpus();
    if (free <= 0 || !observation.job.spec->resources.allows(node.pool)) continue;
    const std::string obstacle = obstacle_of(observation, rules, node);
    if (obstacle.empty()) continue;
    by_obstacle[obstacle] += free;
    sum += free;
  }
  if (sum == 0) return {};
  std::vector<std::pair<std::string, int>> obstacles(by_obstacle.begin(), by_obstacle.end());
  std::ranges::stable_sort(obstacles, std::greater<>(), &std::pair<std::string, int>::second);
  std::string text;
  int named = 0;
  for (std::size_t i = 0; i < std::min(obstacles.size(), kNamedObstacles); ++i) {
    text += fmt::format("{}{} on {}", text.empty() ? "" : "; ", obstacles[i].second, obstacles[i].first);
    named += obstacles[i].second;
  }
  if (named < sum) text += fmt::format("; {} on other nodes", sum - named);
  return fmt::format("The job cannot use {}: {}", counted(sum, "free GPU"), text);
}

}  // namespace sailor
