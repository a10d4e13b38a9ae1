// Derives the status that follows from a decision.
#pragma once

#include <string>

#include "operator/reconcile/decide/decision.h"
#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Turns a policy's result into a decision. Adds the new status and the events about its changes, unless the status is
// the same as before. A status of which only the step has changed waits for two seconds after the last one if there are
// up to 20 jobs, and for ten if there are 100 to 500. One of which only the cost has changed waits for thirty seconds.
// With more jobs each waits longer, so that all of them together write at most 50 times a second.
Decision with_status(const Observation& observation, PolicyResult result);

// status.state and status.reason: the conditions in two words.
struct StateSummary {
  std::string state;
  Reason reason = Reason::kNotYetKnown;  // of the condition that `state` is about, or of Degraded while the job runs
};

StateSummary summary_of(const Conditions& conditions);

}  // namespace sailor
