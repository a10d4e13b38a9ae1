// Park: a job that no worker trains any more is brought to a checkpoint from the memory of all.
#pragma once

#include <stdexcept>

#include "trainer/elastic/regroup/regroup.h"

namespace sailor::trainer {

// Called by all workers of a generation that parks, once settled. Each writes its part of the state that the meeting
// agreed on, unless that checkpoint is there already or memory lacks a slice; then the newest complete one is the
// state. False: a newer generation is known. Throws CannotPark.
bool park(const Assignment& assignment, Meeting& meeting, const HeldState& held);

// A reason why the state cannot be saved: it must stay in memory.
class CannotPark : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sailor::trainer
