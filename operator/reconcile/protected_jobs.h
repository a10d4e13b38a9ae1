// ProtectedJobs: remembers when this operator last wrote the credentials of each job. An operator that starts has
// written none, and writes them again when it creates pods.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "core/model/ids.h"
#include "operator/kube/time.h"

namespace sailor {

// Any thread may call the functions.
class ProtectedJobs {
 public:
  void note(const JobKey& job, const std::string& uid, Time now) {
    const std::scoped_lock lock(mutex_);
    written_[job] = {uid, now};
  }
  [[nodiscard]] std::optional<Time> find(const JobKey& job, const std::string& uid) const {
    const std::scoped_lock lock(mutex_);
    const auto found = written_.find(job);
    return found != written_.end() && found->second.uid == uid ? std::optional(found->second.at) : std::nullopt;
  }
  void forget(const JobKey& job) {
    const std::scoped_lock lock(mutex_);
    written_.erase(job);
  }

 private:
  struct Written {
    std::string uid;  // of the job
    Time at;
  };
  mutable std::mutex mutex_;
  std::map<JobKey, Written> written_;
};

}  // namespace sailor
