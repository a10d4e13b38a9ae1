#include "operator/reconcile/decide/quota.h"

#include <algorithm>
#include <map>
#include <string>

namespace sailor {
namespace {

// What is left of a job's quota, by flavor.
class QuotaLeft {
 public:
  QuotaLeft(const Observation& observation, const QueueView& queue) : cluster_(*observation.cluster), queue_(queue) {
    for (const Workload& workload : queue.workloads) {
      if (workload.gpus() > 0 && queue.flavors.contains(workload.flavor)) left_[workload.flavor] += workload.gpus();
    }
  }

  struct Taken {
    int gpus = 0;
    std::string flavor = {};
  };

  // Takes up to `most` GPUs of a node, or of a new node of the pool if the node does not exist; none if fewer than
  // `least` are left.
  Taken take(const std::string& node, const PoolKey& pool, int least, int most) {
    Taken taken;
    for (const auto& [flavor, left] : left_) {
      const int gpus = std::min(left, most);
      if (gpus >= least && gpus > taken.gpus && has_flavor(node, pool, flavor)) taken = {gpus, flavor};
    }
    if (taken.gpus > 0) left_.at(taken.flavor) -= taken.gpus;
    return taken;
  }
  bool take_all(const std::string& node, const PoolKey& pool, int gpus) {
    return take(node, pool, gpus, gpus).gpus == gpus;
  }

  // Returns whether the job has quota for a flavor that the node has.
  [[nodiscard]] bool concerns(const std::string& node, const PoolKey& pool) const {
    return std::ranges::any_of(left_, [&](const auto& entry) { return has_flavor(node, pool, entry.first); });
  }
  [[nodiscard]] bool has_several_flavors() const { return left_.size() > 1; }

 private:
  [[nodiscard]] bool has_flavor(const std::string& node, const PoolKey& pool, const std::string& flavor) const {
    const Labels& wanted = queue_.flavors.at(flavor).labels;
    const NodeView* view = node.empty() ? nullptr : cluster_.find_node(node);
    return view != nullptr ? view->has_labels(wanted) : has_all(labels_of_new_node(pool), wanted);
  }

  // A pool may have thousands of new nodes.
  const Labels& labels_of_new_node(const PoolKey& pool) const {
    const auto [known, is_new] = labels_of_new_nodes_.try_emplace(pool);
    if (is_new) known->second = cluster_.labels_of_new_node(pool);
    return known->second;
  }

  const ClusterView& cluster_;
  const QueueView& queue_;
  std::map<std::string, int> left_;
  mutable std::map<PoolKey, Labels> labels_of_new_nodes_;
};

}  // namespace

const QueueView* find_queue(const Observation& observation) {
  const auto& queue = observation.queue;
  return queue && !queue->name.empty() && !observation.settings.kueue_version.empty() ? &*queue : nullptr;
}

int quota_of(const QueueView& queue) {
  int gpus = 0;
  for (const Workload& workload : queue.workloads) gpus += workload.gpus();
  return gpus;
}

JobSpec spec_within_quota(const Observation& observation) {
  JobSpec spec = observation.job.spec.value();
  const QueueView* queue = find_queue(observation);
  if (queue == nullptr) return spec;
  const int quota = quota_of(*queue);
  int& most = spec.resources.max_gpus.emplace(spec.resources.max_gpus.value_or(quota));
  // A quota below minGpus allows no plan: the placement of any exceeds it.
  most = std::max(spec.resources.min_gpus, std::min(most, quota));
  return spec;
}

std::vector<UsableNode> nodes_within_quota(const Observation& observation, std::vector<UsableNode> nodes) {
  const QueueView* queue = find_queue(observation);
  if (queue == nullptr) return nodes;
  const QuotaLeft left(observation, *queue);
  if (left.has_several_flavors()) return trimmed_to_quota(observation, std::move(nodes));
  std::erase_if(nodes, [&](const UsableNode& node) { return !left.concerns(node.node, node.pool); });
  return nodes;
}

std::vector<UsableNode> trimmed_to_quota(const Observation& observation, std::vector<UsableNode> nodes) {
  const QueueView* queue = find_queue(observation);
  if (queue == nullptr) return nodes;
  QuotaLeft left(observation, *queue);
  std::ranges::stable_partition(nodes, [](const UsableNode& node) { return !node.pod.empty(); });
  std::vector<UsableNode> kept;
  for (UsableNode& node : nodes) {
    // A pod keeps all its GPUs, and in some pools it has all of its node.
    const bool is_whole = !node.pod.empty() || observation.cluster->pools.at(node.pool).whole_nodes;
    const int gpus = left.take(node.node, node.pool, is_whole ? node.gpus : 1, node.gpus).gpus;
    if (gpus == 0) continue;
    node.gpus = gpus;
    std::erase_if(node.slow, [&](const GpuOfGrade& slow) { return slow.gpu >= gpus; });
    kept.push_back(std::move(node));
  }
  return kept;
}

bool is_within_quota(const Observation& observation, const Placement& placement) {
  const QueueView* queue = find_queue(observation);
  if (queue == nullptr) return true;
  QuotaLeft left(observation, *queue);
  return std::ranges::all_of(placement.slots,
                             [&](const Slot& slot) { return left.take_all(slot.node, slot.pool, slot.gpus); });
}

bool are_pods_within_quota(const Observation& observation) {
  const QueueView* queue = find_queue(observation);
  if (queue == nullptr) return true;
  QuotaLeft left(observation, *queue);
  return std::ranges::all_of(observation.pods, [&](const PodView& pod) {
    return !pod.is_ours || pod.has_ended() || left.take_all(pod.node, pod.pool, pod.gpus);
  });
}

std::map<std::string, int> gpus_by_flavor(const Observation& observation, const Placement& placement) {
  std::map<std::string, int> used;
  const QueueView* queue = find_queue(observation);
  if (queue == nullptr) return used;
  QuotaLeft left(observation, *queue);
  for (const Slot& slot : placement.slots) {
    const auto [gpus, flavor] = left.take(slot.node, slot.pool, 1, slot.gpus);
    if (gpus > 0) used[flavor] += gpus;
  }
  return used;
}

}  // namespace sailor
