// What the log says of a pass over a job and of the answer to a planning question.
#pragma once

#include "operator/model/observation.h"
#include "operator/reconcile/controller.h"

namespace sailor {

void log_reconcile(const ReconcileReport& report);
void log_plan(const PlanAnswer& answer, double seconds);

}  // namespace sailor
