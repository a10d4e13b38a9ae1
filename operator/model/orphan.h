// Orphans: objects that a deleted job has left, and that nothing owns. The garbage collector of Kubernetes deletes what
// a deleted job owns, except with `kubectl delete --cascade=orphan`, which removes the owner instead.
#pragma once

#include "operator/kube/object.h"

namespace sailor {

// Returns whether the operator has made the object for a job, and nothing owns it now.
bool is_orphan(const kube::Json& object);

}  // namespace sailor
