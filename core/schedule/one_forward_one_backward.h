// The fixed order that DeepSpeed's pipeline engine follows: the measured runs were executed with it.
#pragma once

#include <optional>

#include "core/schedule/schedule.h"

namespace sailor {

// P - i forward passes, then a backward and a forward pass in turn; a gradient is received before the activation of the
// pass before is sent, and sent before the next activation is received. Replica r of every stage forms pipeline r,
// which takes every D-th microbatch. Absent for plans that are no such pipelines of equal shares: there that order
// deadlocks. `duration` and `max_waiting_inputs` are left 0, for nothing is timed here.
std::optional<Schedule> deepspeed_schedule(const Plan& plan);

}  // namespace sailor
