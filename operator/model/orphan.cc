#include "operator/model/orphan.h"

#include "operator/model/names.h"

namespace sailor {

bool is_orphan(const kube::Json& object) {
  return kube::label_of(object, kManagedByLabel) == kOperatorName && !kube::label_of(object, kJobNameLabel).empty() &&
         kube::list_at(object, {"metadata", "ownerReferences"}).empty() && !kube::is_deleting(object);
}

}  // namespace sailor
