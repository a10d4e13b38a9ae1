// VanishedPods: remembers since when the objects of pods are gone. An agent that answers after that lives, although the
// API server does not know its pod any more: somebody has deleted the pod by force, or its node's object is gone.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "operator/kube/time.h"
#include "operator/model/record.h"

namespace sailor {

// Any thread may call the function.
class VanishedPods {
 public:
  using Since = std::map<std::string, MonotonicTime>;  // by the UID of the pod

  // Returns since when this operator misses the pods of these members. Forgets the job's other pods.
  Since update(const JobKey& job, const std::vector<Member>& vanished, MonotonicTime now) {
    const std::lock_guard lock(mutex_);
    if (vanished.empty()) {
      jobs_.erase(job);
      return {};
    }
    const Since& known = jobs_[job];
    Since since;
    for (const Member& member : vanished) {
      const auto found = known.find(member.pod_uid);
      since[member.pod_uid] = found == known.end() ? now : found->second;
    }
    return jobs_[job] = std::move(since);
  }

 private:
  std::mutex mutex_;
  std::map<JobKey, Since> jobs_;
};

}  // namespace sailor
