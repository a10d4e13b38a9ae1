// Orphans: objects of a job that nothing owns. The garbage collector of Kubernetes deletes what
// a deleted job owns, except with `kubectl delete --cascade=orphan`, which removes the owner instead.
#pragma once

#include "operator/kube/object.h"

namespace sailor {

// Returns whether the operator has made the object for a job, and nobody deletes it yet.
bool is_of_a_job(const kube::Json& object);
// Returns whether nothing owns such an object.
bool is_orphan(const kube::Json& object);

}  // namespace sailor
