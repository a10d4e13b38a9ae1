// Rivals: collects what a job must know of the others with which it competes for GPUs.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "operator/model/record.h"
#include "operator/model/rival.h"
#include "operator/reconcile/observe/caches.h"

namespace sailor {

// A job that may use GPUs: it has not ended, is not suspended and is not being deleted.
struct Contender {
  kube::Object job;
  std::optional<GenerationRecord> record;  // empty: none, or one that cannot be used
};

// Any thread may call the functions.
class Rivals {
 public:
  using ReadJob = std::function<Result<JobSpec>(const kube::Json&)>;
  Rivals(const Caches& caches, ReadJob read_job) : caches_(caches), read_job_(std::move(read_job)) {}

  // Returns the rivals of the job with this UID, the one that comes first of all jobs first.
  std::vector<Rival> rivals_of(const std::string& job_uid, const std::vector<Contender>& contenders,
                               const ClusterView& cluster, MonotonicTime now);

  // Returns the priority of a TrainingJob: that of its PriorityClass, or else that of the cluster's default class.
  [[nodiscard]] JobPriority priority_of(const kube::Json& job) const;

 private:
  struct Known {
    std::int64_t spec_generation = 0;
    std::shared_ptr<const Demand> demand;
    std::optional<int> least_free;  // the least number of GPUs that were free for it since it waits
    std::optional<MonotonicTime> pending_since;
  };
  struct FreeNode {
    const NodeView* node = nullptr;
    int gpus = 0;
  };
  static std::vector<FreeNode> free_nodes(const ClusterView& cluster);
  static bool is_pending(const Rival& rival, const std::vector<FreeNode>& free, Known& known);
  Rival rival_from(const Contender& contender, const std::vector<FreeNode>& free, Known& known,
                   MonotonicTime now) const;

  const Caches& caches_;
  ReadJob read_job_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;  // by the UID of the job
};

}  // namespace sailor
