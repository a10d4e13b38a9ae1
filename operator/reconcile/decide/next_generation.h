// Functions with which policies make the next generation of a job.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "operator/reconcile/decide/plan_lookup.h"
#include "operator/reconcile/decide/policy.h"
#include "operator/reconcile/decide/usable_nodes.h"

namespace sailor {

// The reason for making a generation.
struct Cause {
  Reason reason = Reason::kNotYetKnown;
  std::string message;  // a sentence
};

// Returns the record of the generation after `before`, with the same plan and placement but a new number. The new
// generation is not committed. `before` is empty for the first generation. The plan still counts as made for the spec
// that it was made for.
GenerationRecord next_generation(const Observation& observation, const std::optional<GenerationRecord>& before,
                                 const Cause& cause);

// Returns a result that writes the record of a new generation. A pod that has a slot in it no longer counts as
// unreachable.
PolicyResult begin_generation(const Observation& observation, GenerationRecord next);

// Begins a generation with the plan in `answer`, which was made for the nodes of `query`. If the job trains and the
// change is voluntary, the present generation trains on until the new pods are ready. If the replicas of the plan do
// not fit the nodes, begins no generation and says so in the condition Planned.
PolicyResult adopt_plan(const Observation& observation, const std::optional<GenerationRecord>& before,
                        const PlanAnswer& answer, const NodeQuery& query, const Cause& cause);

// Begins a generation with the plan and the pods of `before`, which the planner has found again for the present spec,
// or which the job keeps whatever its spec says. If the job trains and the change is voluntary, it trains on until all
// agents answer.
PolicyResult keep_plan_in_new_generation(const Observation& observation, const GenerationRecord& before,
                                         const Cause& cause);

// Begins a generation that releases the GPUs: no worker trains, the workers save the state, then all pods are deleted.
PolicyResult save_and_release_gpus(const Observation& observation, const GenerationRecord& before, const Cause& cause);

// Returns the names of all observed pods of the job.
std::set<std::string> pod_names(const Observation& observation);

}  // namespace sailor
