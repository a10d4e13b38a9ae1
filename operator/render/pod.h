// Renders the pods that the operator creates. `sailor render` uses the same function.
#pragma once

#include "operator/model/observation.h"

namespace sailor {

// Returns the pod of one slot, with the job's podTemplate merged over it. A slot without a node needs a node that has
// the labels of a new node of its pool.
kube::Json render_pod(const JobView& job, const Slot& slot, std::int64_t generation, const OperatorSettings& settings,
                      const Labels& labels_of_new_node);

// Returns the part of the spec of every pod of a job with this template that restricts its nodes: tolerations,
// nodeSelector and affinity, without those that pin a pod to its slot.
kube::Json scheduling_spec(const kube::Json& pod_template);

}  // namespace sailor
