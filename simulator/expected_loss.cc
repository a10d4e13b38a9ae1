#include "simulator/expected_loss.h"

#include <algorithm>

#include "core/model/checkpoint_interval.h"
#include "simulator/peer_replicas.h"

namespace sailor {
namespace {

// A lost node is noticed after five seconds (kPeerTimeout, core/protocol/timeouts.h). Then the workers connect again.
constexpr Seconds kFailurePause{8};

Seconds time_since_checkpoint(const JobSpec& job, Seconds iteration, double failures_per_hour) {
  const Seconds whole_job = iteration * static_cast<double>(job.training.steps);
  if (job.checkpoint.path.empty()) return whole_job / 2;
  return std::min(whole_job, time_between_checkpoints(job.checkpoint, iteration, failures_per_hour)) / 2;
}

// Whether a pool of a lower speed grade offers GPUs of these nodes too. Plans use the faster GPUs of a node first, so
// the node counts there.
bool has_faster_gpus(const NodeGroup& group, int grade) {
  const auto& gpus = group.gpus_of_grades;
  return group.is_mixed() && std::any_of(gpus.begin(), gpus.begin() + grade, [](int faster) { return faster > 0; });
}

// The fewest nodes that have this number of free GPUs. Nodes that do not exist, because the plan does not fit, are
// full.
int nodes_with(const Pool& pool, int gpus) {
  int nodes = 0;
  for (const NodeGroup& group : pool.nodes) {
    if (gpus <= 0) break;
    const int used = std::min(group.count, (gpus + group.free_gpus - 1) / group.free_gpus);
    if (!has_faster_gpus(group, pool.key.grade)) nodes += used;
    gpus -= used * group.free_gpus;
  }
  return gpus <= 0 ? nodes : nodes + (gpus + pool.gpus_per_node - 1) / pool.gpus_per_node;
}

}  // namespace

ExpectedLoss expected_loss(const GroupedPlan& plan, Seconds iteration, const JobSpec& job, const ClusterState& cluster,
                           const PlanLinks& links) {
  ExpectedLoss loss;
  const std::vector<int> gpus = gpus_of_pools(plan, cluster.pools.size());
  std::vector<int> nodes(cluster.pools.size());
  int all_nodes = 0;
  for (std::size_t pool = 0; pool < nodes.size(); ++pool) {
    nodes[pool] = nodes_with(cluster.pools[pool], gpus[pool]);
    all_nodes += nodes[pool];
  }
  // The nodes of each pool whose loss is the loss of some state.
  std::vector<int> exposed(nodes.size());
  const bool has_peer_replicas = plan.techniques.keeps_peer_replicas && all_nodes > 1;
  for (std::size_t i = 0; i < plan.stages.size() && !has_peer_replicas; ++i) {
    const GroupedStage& stage = plan.stages[i];
    if (is_on_two_nodes(plan, stage, links)) continue;
    loss.exposed_stages.push_back(static_cast<int>(i));
    for (const ReplicaGroup& group : stage.groups) {
      const auto pool = static_cast<std::size_t>(group.pool);
      exposed[pool] = std::min(nodes[pool], exposed[pool] + (plan.techniques.shards_optimizer ? group.count : 1));
    }
  }
  double exposed_per_hour = 0;
  for (std::size_t pool = 0; pool < nodes.size(); ++pool) {
    const double per_hour = 3600 / cluster.pools[pool].expected_node_lifetime().value();
    loss.failures_per_hour += nodes[pool] * per_hour;
    exposed_per_hour += exposed[pool] * per_hour;
  }
  loss.per_failure = kFailurePause + iteration / 2;
  if (loss.failures_per_hour > 0) {
    loss.per_failure +=
        time_since_checkpoint(job, iteration, loss.failures_per_hour) * (exposed_per_hour / loss.failures_per_hour);
  }
  return loss;
}

}  // namespace sailor
