// How many microbatches a replica should have in flight, from what it waits for. One home for the rule: the schedule
// obeys it, the simulator counts memory by it.
#pragma once

#include <vector>

#include "core/model/plan.h"
#include "core/model/schedule_times.h"

namespace sailor {

enum class SchedulePolicy {
  kOneForwardOneBackward,  // at most min(P - i, m) microbatches in flight: DeepSpeed's, as the measured runs had it
  kFlow,                   // as many as keep every replica busy, however unequal the replicas and slow the links
};

// `little` is L = m (t + what happens downstream) / (the longest m t of the plan), by Little's law what a replica needs
// to stay busy if all went evenly. `is_textbook`: equal pipelines over free links, where L suffices.
int flow_policy_cap(double little, bool is_textbook, bool is_last_stage);

// The cap on microbatches in flight of each replica, [stage][replica].
std::vector<std::vector<int>> in_flight_caps(const Plan& plan, const ScheduleTimes& times, SchedulePolicy policy);

// The same times with those caps. They are reckoned with fractions, of which every machine may have its own last digit:
// so they travel, and all that a worker does with them is whole numbers.
ScheduleTimes with_in_flight_caps(const Plan& plan, ScheduleTimes times, SchedulePolicy policy);

}  // namespace sailor
