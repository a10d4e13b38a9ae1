// Parses a pod of a job into a PodView.
#pragma once

#include "operator/model/observation.h"

namespace sailor {

PodView pod_view(const kube::Json& pod, const std::string& job_uid);

// The reason of the Events with which a kubelet says that it cannot mount a volume of a pod. It repeats them.
inline constexpr const char* kMountFailure = "FailedMount";

// Adds to PodView::waiting what the kubelet has said last in such Events. The state of the container does not say it.
void note_mount_failures(PodView& pod, const std::vector<kube::Object>& events);

// Notes that the pod has ended if the report of its agent says that it is about to end. The kubelet says so later.
void note_end(PodView& pod, const AgentReport& report);

}  // namespace sailor
