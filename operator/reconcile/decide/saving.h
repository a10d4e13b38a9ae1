// Functions about saving the state of a job whose newest generation releases the GPUs: a checkpoint is written before
// the pods are deleted.
#pragma once

#include <chrono>
#include <string>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// After this time the pods are deleted even if their state is not saved.
inline constexpr std::chrono::seconds kSaveLimit{60};

// Returns whether the job has a checkpoint folder and a pod that holds state.
bool can_save(const Observation& observation);

// Returns whether a pod may hold state: one that has not reported yet counts. A pod without an address has never run.
bool may_hold_state(const Observation& observation);

// Returns whether a pod still has to save its state. `record` must release the GPUs. A pod that has not reported yet
// counts, because it may hold state. Returns false once a save has failed or its time has passed.
bool is_saving(const Observation& observation, const GenerationRecord& record);

// Returns whether a worker could not save its state, because it lost a peer or the folder is gone. The worker keeps the
// state, so another attempt may succeed.
bool has_failed_to_save(const Observation& observation, const GenerationRecord& record);

// Returns whether a generation that releases the GPUs may do so without saving the state: kSaveLimit has passed, or the
// job has no checkpoint folder.
bool may_release_unsaved(const Observation& observation, const GenerationRecord& record);

// Begins another generation that saves the state, with the pods that remain, if the present one is disrupted: a worker
// failed to save, or the others wait for a pod that is lost or unreachable. Otherwise returns an empty result.
PolicyResult retry_save(const Observation& observation, const GenerationRecord& record);

// Returns the step of the newest checkpoint that the workers or the status know of; 0: they know of none.
std::int64_t newest_checkpoint(const Observation& observation);

// Says where a job starts that has no checkpoint of its own: "at step 0", or "with the state of job other".
std::string where_it_starts(const JobSpec& job);

// Returns two sentences: why the job has released the GPUs, and where its state is saved.
std::string release_message(const Observation& observation, const GenerationRecord& record);

// Returns the second sentence only.
std::string saving_message(const Observation& observation, const GenerationRecord& record);

}  // namespace sailor
