// A TrainingJob as the operator's pages and the command line read it from the API server: its name and its status.
#pragma once

#include "operator/kube/object.h"
#include "operator/model/job_status.h"

namespace sailor {

struct JobInCluster {
  JobKey key;
  JobStatus status;
};

inline JobInCluster job_in_cluster(const kube::Json& training_job) {
  const kube::Json* status = kube::find_at(training_job, {"status"});
  return {kube::key_of(training_job), status == nullptr ? JobStatus() : job_status_from_json(*status)};
}

}  // namespace sailor
