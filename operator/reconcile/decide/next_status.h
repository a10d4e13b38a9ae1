// Derives the status that follows from a decision.
#pragma once

#include <string>

#include "operator/reconcile/decide/decision.h"
#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Turns a policy's result into a decision. Adds the new status and the events about its changes, unless the status is
// the same as before. If only the progress has changed, the status is written at most every two seconds, or every
// thirty seconds if the step has not changed. With more than 100 jobs it is written at most every 20 ms times the
// number of jobs.
Decision with_status(const Observation& observation, PolicyResult result);

// status.state and status.reason: the conditions in two words.
struct StateSummary {
  std::string state;
  Reason reason = Reason::kNotYetKnown;  // of the condition that `state` is about, or of Degraded while the job runs
};

StateSummary summary_of(const Conditions& conditions);

}  // namespace sailor
