// PolicyResult: what one policy wants for a job. A policy is a pure function from an observation to such a value;
// decide.cc has the list of all policies.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "operator/model/conditions.h"
#include "operator/reconcile/decide/decision.h"

namespace sailor {

struct PolicyResult {
  std::optional<GenerationRecord> record;  // the job's record from now on; empty: the record stays as it is
  std::vector<Action> actions;             // in this order
  std::vector<EventNote> events;
  Conditions conditions;  // only those that the policy knows better than job_conditions.h
  std::optional<std::chrono::milliseconds> requeue_after;
  bool is_final = false;          // nothing else is done for the job now: its pods are not touched
  bool keeps_ended_pods = false;  // the reports of pods that have ended are needed until there is a plan
};

// Adds what `more` wants to `result`. Where both have a record or the same condition, that of `more` counts.
void merge(PolicyResult& result, PolicyResult more);

// The record is written before anything that follows from it is done.
void write_record(PolicyResult& result, GenerationRecord record);

// The earlier of two requests counts.
void requeue(PolicyResult& result, std::chrono::milliseconds delay);

void set_conditions(PolicyResult& result, std::initializer_list<ConditionType> types, const Condition& condition);
void remove_pod(PolicyResult& result, const PodView& pod);
void remove_running_pods(PolicyResult& result, const Observation& observation);  // of this job

// At least a millisecond.
std::chrono::milliseconds time_until(Time now, Time then);

}  // namespace sailor
