#include "operator/reconcile/observe/pending_jobs.h"

#include <algorithm>
#include <vector>

namespace sailor {
namespace {

// Counts the GPUs that are free for a job, once for all jobs that ask for the same.
class FreeGpus {
 public:
  explicit FreeGpus(const ClusterView& cluster) : cluster_(cluster) {}

  int for_job(const Demand& demand) {
    const auto [entry, is_new] = sums_.try_emplace(&demand, 0);
    if (!is_new) return entry->second;
    if (!free_) free_ = free_nodes();
    for (const auto& [node, gpus] : *free_) entry->second += demand.may_use(*node) ? gpus : 0;
    return entry->second;
  }

 private:
  struct FreeNode {
    const NodeView* node = nullptr;
    int gpus = 0;
  };
  [[nodiscard]] std::vector<FreeNode> free_nodes() const {
    std::vector<FreeNode> free;
    for (const NodeView& node : cluster_.nodes) {
      const int gpus = node.gpus - node.used_gpus();
      if (gpus > 0 && node.takes_pods()) free.push_back({&node, gpus});
    }
    return free;
  }

  const ClusterView& cluster_;
  std::optional<std::vector<FreeNode>> free_;
  std::map<const Demand*, int> sums_;
};

}  // namespace

void PendingJobs::fill_in(Rivals::InOrder& rivals, const ClusterView& cluster, MonotonicTime now) {
  FreeGpus free(cluster);
  std::map<std::string, Known> known;
  for (auto& rival : rivals) {
    if (rival->state == RivalState::kHolds) continue;
    Known its;
    if (auto before = known_.extract(rival->uid)) its = std::move(before.mapped());
    bool is_pending = true;
    if (rival->state == RivalState::kWaits) {
      const int gpus = free.for_job(*rival->demand);
      its.least_free = std::min(its.least_free.value_or(gpus), gpus);
      is_pending = gpus > *its.least_free;
    } else {
      its.least_free.reset();
    }
    if (its.job != rival || its.complete->is_pending != is_pending) {
      Rival complete = *rival;
      const bool was_pending = its.complete != nullptr && its.complete->is_pending;
      complete.is_pending = is_pending;
      if (is_pending) complete.pending_since = was_pending ? its.complete->pending_since : now;
      its.job = rival;
      its.complete = std::make_shared<const Rival>(std::move(complete));
    }
    rival = its.complete;
    known.emplace(rival->uid, std::move(its));
  }
  known_ = std::move(known);
}

}  // namespace sailor
