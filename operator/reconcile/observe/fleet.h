// Fleet: what the observations of all jobs have in common: the cluster, and the jobs that compete for its GPUs. It
// follows the caches change by change, so that a look at one job of a thousand does not read the other ones again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/model/compute_capability.h"
#include "operator/model/cluster_view.h"
#include "operator/model/record.h"
#include "operator/model/rival.h"
#include "operator/reconcile/observe/caches.h"
#include "operator/reconcile/observe/node_notices.h"
#include "operator/reconcile/observe/pool_watch.h"

namespace sailor {

// A job that may use GPUs: it has not ended, is not suspended and is not being deleted.
struct Contender {
  Rival rival;                // without what depends on time and on free GPUs (Rivals)
  std::vector<Claim> claims;  // of its record
  std::vector<PoolRefusal> refusals;
};

struct FleetSnapshot {
  std::shared_ptr<const ClusterView> cluster;
  std::vector<std::shared_ptr<const Contender>> contenders;  // the one that comes first of all jobs first
  std::shared_ptr<const PoolHistories> histories;
};

// Any thread may call the functions.
class Fleet {
 public:
  struct Sources {
    std::function<Result<JobSpec>(const kube::Json&)> read_job;
    std::function<Result<GenerationRecord>(const JobKey&, const std::string& job_uid)> record;
    std::function<JobPriority(const kube::Json& job)> priority;
    ComputeCapability least_capability;
  };

  // Make it before the caches get their objects.
  Fleet(Caches& caches, Sources sources);

  // Returns the fleet as the caches have it now.
  [[nodiscard]] FleetSnapshot look(Time now);

 private:
  // What has changed since the last look.
  struct Changes {
    bool all_nodes = true;        // all nodes and pools are to be read again
    bool all_jobs = true;         // all jobs are to be read again
    std::set<std::string> nodes;  // that have changed
    std::set<std::string> users;  // nodes whose pods have changed; "": pods without a node
    std::set<JobKey> jobs;        // that have changed, or their records
  };
  void note_pod(const kube::Json* before, const kube::Json* now);
  Changes take_changes();
  void read_jobs(const Changes& changes);
  [[nodiscard]] std::shared_ptr<const Contender> contender(const kube::Object& job, const Contender* before) const;
  // Returns whether a part of the view has changed that nodes of a pool share.
  bool read_nodes(ClusterView& view, const Changes& changes) const;
  void read_claims(ClusterView& view, std::set<std::string>& touched);
  [[nodiscard]] std::vector<kube::Object> pods_on(const std::string& node) const;
  void count_use(NodeView& node) const;
  ClusterView& writable_view();

  Caches& caches_;
  Sources sources_;
  std::mutex changes_mutex_;
  Changes changes_;
  std::mutex mutex_;  // guards all that follows
  NodeNotices notices_;
  PoolWatch pools_;
  std::shared_ptr<ClusterView> view_ = std::make_shared<ClusterView>();
  std::map<JobKey, std::shared_ptr<const Contender>> contender_of_;
  std::vector<std::shared_ptr<const Contender>> contenders_;
  std::map<std::string, std::vector<Claim>> claims_on_;  // by the name of the node
};

}  // namespace sailor
