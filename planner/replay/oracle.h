// The oracle: a job that knows the future of the nodes. No policy completes more steps.
#pragma once

#include "planner/replay/plan_book.h"
#include "planner/replay/replay_report.h"
#include "planner/replay/timeline.h"

namespace sailor {

struct OraclePauses {
  Seconds start;   // without a plan, until the first step
  Seconds change;  // from one plan to another
};

// Chooses, for every moment of the timeline, among the plans of the book, or to wait, so that the job completes the
// most steps. The oracle is faster than a job can be: it loses no step and needs no time to plan, every change takes
// the least time that any policy needs for one, and what a pause would take of the next moment is forgiven. The
// timeline should give nodes up to their end (NodeTimes::notice of zero).
ReplayReport replay_oracle(const JobSpec& job, const Timeline& timeline, PlanBook& book, const OraclePauses& pauses);

}  // namespace sailor
