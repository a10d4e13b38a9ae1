// Writes the log lines about a reconcile and about an answer of the planner.
#pragma once

#include "operator/model/observation.h"
#include "operator/reconcile/controller.h"

namespace sailor {

void log_reconcile(const ReconcileReport& report);
void log_plan(const PlanAnswer& answer, double seconds);

}  // namespace sailor
