// Membership: the pods that take part in a generation. Applies the rules of operator/protocol/fencing.h to an
// observation.
#pragma once

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Returns the pod as a member of a generation.
Member member_from(const PodView& pod, const Observation& observation, bool leaves);

// Commits the membership: writes the members into the record once all pods that take part are ready and all older
// generations are fenced. No agent is notified of the generation before that. Until then the result says in the
// condition PodsReady which older generation may still train, or is empty.
PolicyResult commit_membership(const Observation& observation, const GenerationRecord& record);

}  // namespace sailor
