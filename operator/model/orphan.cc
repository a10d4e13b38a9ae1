#include "operator/model/orphan.h"

#include "operator/model/names.h"

namespace sailor {

bool is_of_a_job(const kube::Json& object) {
  return kube::label_of(object, kManagedByLabel) == kOperatorName && !kube::label_of(object, kJobNameLabel).empty() &&
         !kube::is_deleting(object);
}

bool is_orphan(const kube::Json& object) {
  return is_of_a_job(object) && kube::list_at(object, {"metadata", "ownerReferences"}).empty();
}

}  // namespace sailor
