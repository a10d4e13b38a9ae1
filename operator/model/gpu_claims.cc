#include "operator/model/gpu_claims.h"

#include "operator/model/job_status.h"

namespace sailor {

bool may_use_gpus(const kube::Json& job) {
  if (kube::is_deleting(job) || kube::bool_at(job, {"spec", "suspend"})) return false;
  const kube::Json* status = kube::find_at(job, {"status"});
  return status == nullptr || !job_status_from_json(*status).has_ended();
}

void add_record(const GenerationRecord& record, ClusterObjects& objects) {
  objects.refusals.insert(objects.refusals.end(), record.pool_refusals.begin(), record.pool_refusals.end());
  if (record.is_committed()) return;
  for (const Slot& slot : record.placement.slots) {
    objects.claims.push_back({record.job_uid, slot.node, slot.node_uid, slot.gpus, slot.pool});
  }
}

}  // namespace sailor
