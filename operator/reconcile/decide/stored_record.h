// Keeps the objects in which the API server stores a job's record and shows its plan.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Stores the record that an older operator has left, unless the result writes a record in any case.
void store_imported_record(PolicyResult& result, const Observation& observation);

// Publishes the plan of the newest record, unless the ConfigMap shows it already.
void publish_plan(PolicyResult& result, const Observation& observation, const GenerationRecord& newest);

}  // namespace sailor
