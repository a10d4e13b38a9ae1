// Parses a pod of a job into a PodView.
#pragma once

#include <string_view>

#include "operator/model/observation.h"

namespace sailor {

PodView pod_view(const kube::Json& pod, const std::string& job_uid);

// Selects the Events among which those below are, without those that most pods with a problem have.
inline constexpr const char* kStartFailures =
    "involvedObject.kind=Pod,type=Warning,reason!=FailedScheduling,reason!=BackOff,reason!=Failed,reason!=Unhealthy";

// Returns whether an Event of this reason says why a pod does not start on its node: its volumes, its network or its
// devices cannot be prepared. Such Events are repeated while this lasts.
bool is_start_failure(std::string_view reason);

// Adds to PodView::waiting what the newest of such Events says. The state of the container does not say it.
void note_start_failures(PodView& pod, const std::vector<kube::Object>& events);

// Notes that the pod has ended if the report of its agent says that it is about to end. The kubelet says so later.
void note_end(PodView& pod, const AgentReport& report);

}  // namespace sailor
