// Writes the log lines about a reconcile, an answer of the planner, and the status of a GpuPool.
#pragma once

#include "operator/model/observation.h"
#include "operator/reconcile/controller.h"

namespace sailor {

void log_reconcile(const ReconcileReport& report);
void log_plan(const PlanAnswer& answer, double seconds);
void log_pool_failure(const std::string& pool, const kube::ApiError& error);  // its status could not be written

}  // namespace sailor
