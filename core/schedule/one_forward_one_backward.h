// The fixed order of operations of DeepSpeed's pipeline engine. The measured runs were executed with it.
#pragma once

#include <optional>

#include "core/schedule/schedule.h"

namespace sailor {

// Stage i of P stages does P - i forward passes, then backward and forward passes in turn. It receives a gradient
// before it sends the activation of the previous pass, and it sends a gradient before it receives the next activation.
// Replica r of every stage forms pipeline r of D pipelines, which takes every D-th microbatch.
// Returns nothing if the plan does not consist of such pipelines with equal numbers of microbatches: with other plans
// this order deadlocks. `duration` stays 0, because this function simulates no times.
std::optional<Schedule> deepspeed_schedule(const Plan& plan);

}  // namespace sailor
