// Rivals: collects what a job must know of the others with which it competes for GPUs.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "operator/model/rival.h"
#include "operator/reconcile/observe/fleet.h"

namespace sailor {

// Any thread may call the functions.
class Rivals {
 public:
  // Returns the rivals of the job with this UID, the one that comes first of all jobs first.
  std::vector<Rival> rivals_of(const std::string& job_uid, const FleetSnapshot& fleet, MonotonicTime now);

 private:
  // Of a rival without GPUs.
  struct Known {
    std::optional<int> least_free;  // the least number of GPUs that were free for it since it waits
    std::optional<MonotonicTime> pending_since;
  };
  struct FreeNode {
    const NodeView* node = nullptr;
    int gpus = 0;
  };
  static std::vector<FreeNode> free_nodes(const ClusterView& cluster);
  static bool is_pending(const Rival& rival, const std::vector<FreeNode>& free, Known& known);

  std::mutex mutex_;
  std::map<std::string, Known> known_;  // by the UID of the job
};

}  // namespace sailor
