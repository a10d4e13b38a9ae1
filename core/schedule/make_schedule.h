// How the schedule of a plan is made.
#pragma once

#include <optional>
#include <span>

#include "core/model/schedule_times.h"
#include "core/schedule/caps.h"
#include "core/schedule/schedule.h"

namespace sailor {

// Times for a plan of which nothing is known but its shares: a replica that gets twice the microbatches is twice as
// fast, a backward pass is two forward passes, links are free.
ScheduleTimes times_from_shares(const Plan& plan);

// Same plan and times: same schedule, on every machine. The plan is well-formed; caps are obeyed as they are.
Schedule make_schedule(const Plan& plan, const ScheduleTimes& times);
Schedule make_schedule(const Plan& plan, const ScheduleTimes& times, SchedulePolicy policy);  // of the capped times

// The same schedule; nothing if some stage is surely not done with its passes by its deadline, of which there is one
// for each, or none at all.
std::optional<Schedule> make_schedule_within(std::span<const Nanoseconds> deadlines, const Plan& plan,
                                             const ScheduleTimes& times);

}  // namespace sailor
