// Merges a pod template over a generated pod. The lists that matter here are merged as by kubectl's strategic merge.
#pragma once

#include "operator/kube/object.h"

namespace sailor {

// Merges objects by field, and lists of named items (containers, volumes, env, ports ...) by the field that names the
// item. Appends tolerations. Replaces all other lists and values. A null in the patch removes the field.
void merge_over(kube::Json& base, const kube::Json& patch);

}  // namespace sailor
