// Makes the schedule of a plan.
#pragma once

#include <optional>
#include <span>

#include "core/model/schedule_times.h"
#include "core/schedule/caps.h"
#include "core/schedule/schedule.h"

namespace sailor {

// Times for a plan without measurements. They are derived from the replicas' numbers of microbatches: a replica with
// twice the microbatches counts as twice as fast, a backward pass takes as long as two forward passes, and messages
// take no time.
ScheduleTimes times_from_shares(const Plan& plan);

// Equal plans and times give equal schedules on every machine, because everything is computed in integers. The plan
// must be well-formed. The caps in `times` apply unchanged; the order of passes is chosen as under kFlow (caps.h).
Schedule make_schedule(const Plan& plan, const ScheduleTimes& times);
// First replaces the caps in `times` by those of the policy. The order of passes is that of the policy too.
Schedule make_schedule(const Plan& plan, const ScheduleTimes& times, SchedulePolicy policy);

// Returns the same schedule as the first function, or nothing if some stage certainly cannot finish its passes by its
// deadline. `deadlines` has one entry a stage, counted from the start of the step, or is empty: then there are no
// deadlines.
std::optional<Schedule> make_schedule_within(std::span<const Nanoseconds> deadlines, const Plan& plan,
                                             const ScheduleTimes& times);

}  // namespace sailor
