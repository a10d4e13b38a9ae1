// Merging of a pod template over a generated pod, as kubectl's strategic merge does for the lists that matter here.
#pragma once

#include "operator/kube/object.h"

namespace sailor {

// Objects are merged by field; lists of named things (containers, volumes, env, ports ...) by their key; other lists
// and tolerations are appended to; all else is replaced. A null in the patch removes the field.
void merge_over(kube::Json& base, const kube::Json& patch);

}  // namespace sailor
