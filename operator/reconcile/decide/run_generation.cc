#include "operator/reconcile/decide/run_generation.h"

#include "operator/reconcile/decide/assignments.h"
#include "operator/reconcile/decide/generation_pods.h"
#include "operator/reconcile/decide/membership.h"

namespace sailor {

PolicyResult run_generation(const Observation& observation, const GenerationRecord& record, bool keeps_ended_pods) {
  PolicyResult result;
  remove_ended_and_stale_pods(result, observation, record, keeps_ended_pods);
  if (!record.is_committed()) {
    withdraw_requests_for_nodes(result, observation, record);
    create_missing_pods(result, observation, record);
    merge(result, commit_membership(observation, record));
  }
  const GenerationRecord& newest = result.record ? *result.record : record;
  if (newest.is_committed()) {
    send_assignments(result, observation, newest);
    remove_unused_pods(result, observation, newest);
  }
  update_callbacks(result, observation);
  return result;
}

}  // namespace sailor
