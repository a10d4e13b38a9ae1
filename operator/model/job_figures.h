// The figures of a job that the operator's pages and the command line show and that no single field of the status has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/model/units.h"
#include "operator/model/job_status.h"

namespace sailor {

// Pointers are into the status, and null if there is no such part.
const StepStatus* steps_of(const JobStatus& status);     // the newest progress of a job that has done a step
const PlanStatus* plan_in_use(const JobStatus& status);  // the plan whose GPUs the job holds
// The condition that says best what the job does or waits for.
const ConditionStatus* main_condition(const JobStatus& status);

// Empty: unknown, for example because the job has not done a step yet, or does not train now.
std::optional<std::int64_t> total_steps(const JobStatus& status);
std::optional<std::int64_t> measured_tokens_per_second(const JobStatus& status);
std::optional<Seconds> time_left(const JobStatus& status);       // if the job goes on as fast as now
std::optional<double> speed_over_plan(const JobStatus& status);  // the measured tokens per second over the planned ones
std::optional<double> present_dollars_per_hour(const JobStatus& status);  // also empty if the job costs nothing
std::optional<double> useful_part(const JobStatus& status);               // of the elapsed time, from 0 to 1

// Returns why a change has no duration: "withdrawn", "interrupted" or "in progress".
std::string why_unfinished(const RescaleStatus& change);

}  // namespace sailor
