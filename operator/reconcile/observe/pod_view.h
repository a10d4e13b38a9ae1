// Parses a pod of a job into a PodView.
#pragma once

#include "operator/model/observation.h"

namespace sailor {

PodView pod_view(const kube::Json& pod, const std::string& job_uid);

// Notes that the pod has ended if the report of its agent says that it is about to end. The kubelet says so later.
void note_end(PodView& pod, const AgentReport& report);

}  // namespace sailor
