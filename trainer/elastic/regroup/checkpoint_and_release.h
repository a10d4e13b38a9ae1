// Saves the state of a job from the memory of all its workers to a checkpoint, so that they can release their GPUs. The
// operator starts a generation without roles for this purpose (Assignment::releases_gpus).
#pragma once

#include <cstdint>
#include <stdexcept>

#include "trainer/elastic/regroup/regroup.h"

namespace sailor::trainer {

// All workers of a generation that releases its GPUs call this function after settle(). The workers divide the state of
// the resume point among themselves, and each writes its slices. They write nothing if the checkpoint of that step
// already exists. They also write nothing if there is no resume point; then the newest complete checkpoint is the state
// of the job. Returns false if a newer generation is known. Throws CannotSaveState and CommunicationError.
bool checkpoint_and_release(const Assignment& assignment, GenerationRendezvous& rendezvous, const HeldState& held);

// Returns the progress of a job whose state was saved at this step, for the report of rank 0. This worker may hold no
// state, or may not have trained; then it does not know the duration of a step.
JobProgress saved_progress(const Assignment& assignment, std::int64_t step, const HeldState& held, double step_seconds);

// The exception if the state cannot be saved and must stay in memory. what() is the reason.
class CannotSaveState : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sailor::trainer
