// Looking ahead: whether a job changes its plan, given how soon its nodes are expected to change again.
#pragma once

#include <algorithm>

#include "core/model/job_spec.h"
#include "core/model/units.h"

namespace sailor {

// NodeHistory::drops, summed over the pools.
inline constexpr double kEnoughDrops = 3;

// kOff: changes are judged as if every plan ran for PlanOptions::expected_lifetime.
constexpr bool looks_ahead(LookAhead look_ahead, double drops) {
  return look_ahead == LookAhead::kOn || (look_ahead == LookAhead::kAuto && drops >= kEnoughDrops);
}

// The share of its time that a job wastes as long as it keeps a plan of figure `present` although another has `other`.
// Figures are seconds, or US dollars, per iteration.
constexpr double share_forgone(double present, double other) { return std::max(0.0, 1 - other / present); }

// Whether a change whose gain is `share` of all time is worth a pause. `until_change` is the expected time until nodes
// of the new plan are lost, or others join; then there is a pause in any case, and the job may as well change then.
// `forgone` is what the job has lost so far by not changing. Once it is as long as the pause, the job changes whatever
// it expects, so waiting never costs more than one more pause.
constexpr bool is_worth_pausing(double share, Seconds pause, Seconds until_change, Seconds forgone) {
  return until_change * share > pause || forgone >= pause;
}

// The figure of a plan whose pause is spread over the time until the next one.
constexpr double figure_with_pauses(double figure, Seconds pause, Seconds until_change) {
  return figure * (1 + pause / until_change);
}

}  // namespace sailor
