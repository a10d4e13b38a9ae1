// Progress: a number that every transition increases, faults included. It counts generations first, and then how far
// each worker has come within one. Therefore every sequence of transitions ends, none reaches a state twice, and a
// state can be forgotten after all states with less progress have been visited.
#pragma once

#include "tests/trainer/elastic/protocol/rules.h"
#include "tests/trainer/elastic/protocol/world.h"

namespace sailor::trainer::exploration {

int progress(const World& world, const Rules& rules);

// Returns whether the lease of the generation that the worker obeys is renewed: by the operator if the worker answers
// it, or else by the claims of the checkpoint folder.
bool is_lease_renewed(const World& world, int id, const Rules& rules);

}  // namespace sailor::trainer::exploration
