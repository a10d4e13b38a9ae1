// Fleet: what the observations of all jobs have in common: the cluster, and the jobs that compete for its GPUs. It
// follows the caches change by change, so that a look at one job of a thousand does not read the other ones again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/compute_capability.h"
#include "operator/model/cluster_view.h"
#include "operator/model/record.h"
#include "operator/model/rival.h"
#include "operator/reconcile/observe/caches.h"
#include "operator/reconcile/observe/job_index.h"
#include "operator/reconcile/observe/node_notices.h"
#include "operator/reconcile/observe/pending_jobs.h"
#include "operator/reconcile/observe/pool_watch.h"

namespace sailor {

struct FleetSnapshot {
  std::shared_ptr<const ClusterView> cluster;
  std::shared_ptr<const Rivals> rivals;
  std::shared_ptr<const PoolHistories> histories;
};

// Any thread may call the functions.
class Fleet {
 public:
  struct Sources {
    std::function<Result<GenerationRecord>(const JobKey&, const std::string& job_uid)> record;
    std::function<JobPriority(const kube::Json& job)> priority;
    ComputeCapability least_capability;
  };

  // Make it before the caches get their objects, and after `jobs`, which is the index of their jobs.
  Fleet(Caches& caches, const JobIndex& jobs, Sources sources);

  // Returns the fleet as the caches have it now.
  [[nodiscard]] FleetSnapshot look(Time now, MonotonicTime monotonic_now);

  // Notes that this operator has decided about the job with this UID. Before, a job without GPUs counts as undecided,
  // whatever another operator has written into its status. Returns whether it has been noted for the first time.
  bool note_decided(const JobKey& key, const std::string& uid);

 private:
  // What has changed since the last look.
  struct Changes {
    bool all_nodes = true;        // all nodes and pools are to be read again
    bool all_jobs = true;         // all jobs are to be read again
    std::set<std::string> nodes;  // that have changed
    std::set<std::string> users;  // nodes whose pods or claims have changed; "": pods without a node
    std::set<JobKey> jobs;        // that have changed, or their records

    [[nodiscard]] bool is_empty() const {
      return !all_nodes && !all_jobs && nodes.empty() && users.empty() && jobs.empty();
    }
  };
  // A job that may use GPUs.
  struct Contender {
    std::shared_ptr<const Rival> rival;  // without what PendingJobs sets
    std::vector<Claim> claims;           // of its record
    std::vector<PoolRefusal> refusals;
    bool is_decided = false;  // by this operator
  };
  // What the records of all jobs say about the cluster.
  struct Claims {
    std::map<std::string, std::vector<Claim>> on;  // by the name of the node
    std::map<PoolKey, std::map<std::string, int>> growth;
    std::map<PoolKey, PoolRefusal> refusals;
  };
  void note_pod(const kube::Json* before, const kube::Json* now);
  Changes take_changes();
  // Adds to the changes the nodes whose claims have changed. Returns whether a rival has changed.
  bool read_jobs(Changes& changes);
  [[nodiscard]] std::optional<Contender> contender(const JobKey& key) const;
  [[nodiscard]] bool has_decided(const JobKey& key, const std::string& uid) const;
  bool replace_contender(const JobKey& key, std::optional<Contender> now, Changes& changes);
  void drop_claims(const Contender& contender, Changes& changes);
  void add_claims(const Contender& contender, Changes& changes);
  void read_cluster(const Changes& changes, Time now);
  // Returns whether a part of the view has changed that nodes of a pool share.
  bool read_nodes(ClusterView& view, const Changes& changes) const;
  [[nodiscard]] std::vector<kube::Object> pods_on(const std::string& node) const;
  void count_use(NodeView& node) const;
  void order_rivals(bool have_changed, MonotonicTime now);

  Caches& caches_;
  const JobIndex& jobs_;
  Sources sources_;
  std::mutex changes_mutex_;
  Changes changes_;
  std::mutex mutex_;  // guards all that follows
  NodeNotices notices_;
  PoolWatch pools_;
  PendingJobs pending_;
  std::shared_ptr<const ClusterView> view_ = std::make_shared<const ClusterView>();
  std::map<JobKey, Contender> contenders_;
  Claims claims_;
  Rivals::InOrder in_order_;  // the rivals of all contenders
  std::shared_ptr<const Rivals> rivals_ = std::make_shared<const Rivals>();
};

}  // namespace sailor
