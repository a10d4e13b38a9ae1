// Parses a pod of a job into a PodView.
#pragma once

#include "operator/model/observation.h"

namespace sailor {

PodView pod_view(const kube::Json& pod, const std::string& job_uid);

}  // namespace sailor
