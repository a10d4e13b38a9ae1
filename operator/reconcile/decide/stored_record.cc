#include "operator/reconcile/decide/stored_record.h"

#include "operator/model/record_object.h"

namespace sailor {

void store_imported_record(PolicyResult& result, const Observation& observation) {
  if (!observation.is_record_imported || !observation.record || result.record) return;
  result.actions.insert(result.actions.begin(), WriteRecord{*observation.record});
  result.record = observation.record;
}

void publish_plan(PolicyResult& result, const Observation& observation, const GenerationRecord& newest) {
  if (observation.plan_map && observation.plan_map->generation == newest.generation) return;
  result.actions.emplace_back(PublishPlan{plan_map_of(newest, observation.job.key)});
}

}  // namespace sailor
