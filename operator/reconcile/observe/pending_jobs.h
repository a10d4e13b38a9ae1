// PendingJobs: remembers which jobs without GPUs are about to be planned, and since when.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "operator/model/rival.h"

namespace sailor {

class PendingJobs {
 public:
  // Sets Rival::is_pending and Rival::pending_since of the jobs without GPUs, and forgets all others. A job that has
  // not changed stays the same object.
  void fill_in(Rivals::InOrder& rivals, const ClusterView& cluster, MonotonicTime now);

 private:
  struct Known {
    std::shared_ptr<const Rival> job;  // without what this class sets
    std::shared_ptr<const Rival> complete;
    std::optional<int> least_free;  // the least number of GPUs that were free for it since it waits
  };
  std::map<std::string, Known> known_;  // by the UID of the job
};

}  // namespace sailor
