// Caps on the microbatches that each replica has in flight (forward pass done, backward pass not). This file is the
// only place with the rule: schedules obey it, and the simulator computes activation memory from it.
#pragma once

#include <vector>

#include "core/model/plan.h"
#include "core/model/schedule_policy.h"
#include "core/model/schedule_times.h"

namespace sailor {

// The cap of one replica under kFlow. `little` is L = m (t + time downstream) / (the longest m t of the plan), where t
// is the time of a forward and a backward pass: by Little's law the number of microbatches that keeps the replica busy
// if they arrive evenly. `is_textbook` is true for equal pipelines over free links, where L is enough.
int flow_policy_cap(double little, bool is_textbook, bool is_last_stage);

// The caps of all replicas, [stage][replica]. A cap is at least 1 and at most the replica's cap in `times`.
std::vector<std::vector<int>> in_flight_caps(const Plan& plan, const ScheduleTimes& times, SchedulePolicy policy);

// Returns the same times with these caps. The caps are computed in floating point, which may round differently on each
// machine. Therefore they are computed once and sent to the workers, and the workers compute with integers only.
ScheduleTimes with_in_flight_caps(const Plan& plan, ScheduleTimes times, SchedulePolicy policy);

}  // namespace sailor
