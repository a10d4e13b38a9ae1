// The step held against the closed form of Sailor's paper, and where the difference comes from.
#pragma once

#include "planner/report/markup.h"
#include "planner/report/plan_view.h"

namespace sailor::report {

// Seconds of the closed form (SOSP'25, section 4.2) for the passes, messages and gradient syncs of a plan:
// (N - 1) max (pass + transfers) + sum (pass + transfers) + update + gradient sync, the slowest of each,
// where N are the microbatches of the replica that has most. What it leaves out, each in seconds of the step:
struct ClosedForm {
  Seconds whole;
  Seconds hidden_transfers;  // it lets every microbatch wait for its transfers
  Seconds wide_stages;       // it lets the stage with most microbatches a replica and the slowest stage be one
  Seconds nodes_first;       // it sums gradients around one ring of all replicas
  Seconds hidden_syncs;      // it lets gradients wait for the last pass to be done
  Seconds early_syncs;       // it lets all stages begin to synchronise when the last one is done
  Seconds waiting;           // it knows no order of passes, no limit on microbatches in flight; may be negative
};

ClosedForm closed_form(const PlanView& view);

Element against_closed_form(const PlanView& view);

}  // namespace sailor::report
