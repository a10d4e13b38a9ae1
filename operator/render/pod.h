// Renders the pods that the operator creates. `sailor render` uses the same function.
#pragma once

#include "operator/model/observation.h"

namespace sailor {

// Returns the pod of one slot, with the job's podTemplate merged over it. The pod of a slot without a node asks
// for this new node.
kube::Json render_pod(const JobView& job, const Slot& slot, std::int64_t generation, const OperatorSettings& settings,
                      const NewNode& new_node);

// Returns the part of the spec of every pod of a job with this template that restricts its nodes: tolerations,
// nodeSelector and affinity, without those that pin a pod to its slot.
kube::Json scheduling_spec(const kube::Json& pod_template);

// Returns what a job of this spec, with this template, may use.
Demand demand_of(const JobSpec& spec, const kube::Json& pod_template);

}  // namespace sailor
