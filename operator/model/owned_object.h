// What the objects that a job owns have in common.
#pragma once

#include <string>

#include "operator/kube/object.h"

namespace sailor {

// Returns the metadata of an object that the job controls, so that Kubernetes deletes it with the job.
kube::Json metadata_of_owned(const std::string& name, const JobKey& job, const std::string& job_uid);

}  // namespace sailor
