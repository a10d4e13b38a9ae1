// Saves the state of a job from the memory of all its workers, so that they can release their GPUs.
#pragma once

#include <stdexcept>

#include "trainer/elastic/regroup/regroup.h"

namespace sailor::trainer {

// All workers of a generation that releases its GPUs call this after settle(). Each writes its slices of the resume
// point, unless the checkpoint of that step already exists. If the memory of all workers lacks a slice, nothing is
// written, and the newest complete checkpoint is the state of the job. Returns false if a newer generation is known.
// Throws CannotSaveState.
bool checkpoint_and_release(const Assignment& assignment, GenerationRendezvous& rendezvous, const HeldState& held);

// The state cannot be saved and must stay in memory; what() is the reason.
class CannotSaveState : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sailor::trainer
