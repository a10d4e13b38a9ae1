// The next generation of a job: its record, and what it does with the GPUs.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "operator/reconcile/decide/plan_lookup.h"
#include "operator/reconcile/decide/policy.h"
#include "operator/reconcile/decide/usable_nodes.h"

namespace sailor {

// Why a generation is made.
struct Cause {
  Reason reason = Reason::kNotYetKnown;
  std::string message;  // a sentence
};

// The record of the generation after `before` (empty: there is none), with the same plan and placement.
GenerationRecord next_generation(const Observation& observation, const std::optional<GenerationRecord>& before,
                                 const Cause& cause);

// Writes the record of a new generation.
PolicyResult begin_generation(const Observation& observation, GenerationRecord next);

// A generation with this plan. If the replicas of the plan do not fit onto the nodes, there is none, and the condition
// Planned says so.
PolicyResult adopt_plan(const Observation& observation, const std::optional<GenerationRecord>& before,
                        const PlanAnswer& answer, const NodeQuery& query, const Cause& cause);

// A generation in which nobody trains: the workers save the job's state, then all pods go.
PolicyResult save_and_release_gpus(const Observation& observation, const GenerationRecord& before, const Cause& cause);

std::set<std::string> pod_names(const Observation& observation);

}  // namespace sailor
