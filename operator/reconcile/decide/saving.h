// How far the state of a job is saved whose newest generation releases its GPUs.
#pragma once

#include <chrono>
#include <string>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

inline constexpr std::chrono::seconds kSaveLimit{60};  // then the pods go although not all of the state is saved

// A checkpoint can be written, and somebody has something to write.
bool can_save(const Observation& observation);

// A pod that holds state, or may hold it and has not been heard yet, is still to save it.
bool is_saving(const Observation& observation, const GenerationRecord& record);

// A worker has tried to save its state and failed, because a peer was lost or the folder has gone. It keeps its state.
bool has_failed_to_save(const Observation& observation, const GenerationRecord& record);

// The time for saving has passed, or there is no place to save the state to.
bool is_past_saving(const Observation& observation, const GenerationRecord& record);

// Saves once more with whoever is left: after a failure that may have passed, or if a pod is lost, or unreachable, for
// which the others would wait. Wants nothing where neither is the case.
PolicyResult save_again(const Observation& observation, const GenerationRecord& record);

// Two sentences: why the job has released its GPUs, and how its state is.
std::string release_message(const Observation& observation, const GenerationRecord& record);
std::string saving_message(const Observation& observation, const GenerationRecord& record);  // the second one

}  // namespace sailor
