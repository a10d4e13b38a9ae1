// A pod of ours as decisions see it.
#pragma once

#include "operator/model/observation.h"

namespace sailor {

PodView pod_view(const kube::Json& pod, const std::string& job_uid);

}  // namespace sailor
