// A TrainingJob as the operator's pages and the command line read it from the API server: its name, its status, and
// who runs it.
#pragma once

#include <string>

#include "operator/kube/object.h"
#include "operator/model/job_status.h"

namespace sailor {

struct JobInCluster {
  JobKey key;
  JobStatus status;
  std::string managed_by;  // spec.managedBy: the controller that runs the job instead of this operator; empty: none
};

inline JobInCluster job_in_cluster(const kube::Json& training_job) {
  const kube::Json* status = kube::find_at(training_job, {"status"});
  return {kube::key_of(training_job), status == nullptr ? JobStatus() : job_status_from_json(*status),
          kube::text_at(training_job, {"spec", "managedBy"})};
}

// The state of the job, or why it has none.
inline std::string state_text(const JobInCluster& job) {
  if (!job.status.state.empty()) return job.status.state;
  return job.managed_by.empty() ? "not seen by an operator yet"
                                : "left to the controller " + job.managed_by + ", which spec.managedBy names";
}

}  // namespace sailor
