// PolicyResult: what one policy decides about a job. A policy is a pure function of an observation. It returns nothing
// if it does not apply to the job; the next policy in decide.cc is then tried.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "operator/model/conditions.h"
#include "operator/reconcile/decide/decision.h"

namespace sailor {

struct PolicyResult {
  std::optional<GenerationRecord> record;  // the job's record from now on; empty: the record stays as it is
  std::vector<Action> actions;             // in the order in which they are performed
  std::vector<JobEvent> events;
  Conditions conditions;  // override those that conditions_of() derives; a final result sets all of them
  std::optional<std::chrono::milliseconds> requeue_after;
  bool is_final = false;          // decide() skips run_generation() and conditions_of()
  bool keeps_ended_pods = false;  // pods that have ended stay, because a later decision needs their reports
  bool awaits_planner = false;    // for a job without GPUs, or for one that comes before it
};

// Adds `more` to `result`. If both have a record or the same condition, the one of `more` replaces the other.
void merge(PolicyResult& result, PolicyResult more);

// Adds the action that writes the record. Call it before adding the actions that depend on the record, so that they are
// performed after the write.
void write_record(PolicyResult& result, GenerationRecord record);

// Requests another decision after the delay. Of several requests, the earliest counts.
void requeue(PolicyResult& result, std::chrono::milliseconds delay);

void set_conditions(PolicyResult& result, std::initializer_list<ConditionType> types, const Condition& condition);
// Deletes the pod unless it is being deleted already.
void remove_pod(PolicyResult& result, const PodView& pod);
// Deletes the pods of the job that have not ended.
void remove_running_pods(PolicyResult& result, const Observation& observation);

// Returns `then` - `now`, but at least one millisecond.
std::chrono::milliseconds time_until(Time now, Time then);

}  // namespace sailor
