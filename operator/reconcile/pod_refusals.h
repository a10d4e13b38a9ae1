// PodRefusals: remembers for each job the newest refusal of the API server to create one of its pods. It is kept in
// memory only: an operator that starts tries again, and is told again. Any thread may call the functions.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "operator/model/observation.h"

namespace sailor {

class PodRefusals {
 public:
  // Remembers that the API server has refused a pod of the observed job. The pod is tried again after five seconds, and
  // after twice as long each time that it is refused again, up to a minute.
  void note(const Observation& observation, const std::string& pod, const std::string& message);
  void accept(const JobKey& job, const std::string& pod);  // drops the refusal of this pod
  void forget(const JobKey& job);                          // the job is gone
  [[nodiscard]] std::optional<PodRefusal> find(const JobKey& job) const;

 private:
  mutable std::mutex mutex_;
  std::map<JobKey, PodRefusal> refusals_;
};

}  // namespace sailor
