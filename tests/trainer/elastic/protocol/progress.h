// Progress: how far a world has come, as a number that every event raises, faults too: by generations first, then by a
// worker's way through one. So every course of events ends, none comes to a state twice, and a state can be forgotten
// once all with less progress have been visited.
#pragma once

#include "tests/trainer/elastic/protocol/rules.h"
#include "tests/trainer/elastic/protocol/world.h"

namespace sailor::trainer::exploration {

int progress(const World& world, const Rules& rules);

// The lease of the generation that the worker obeys.
bool is_lease_renewed(const World& world, int id, const Rules& rules);

}  // namespace sailor::trainer::exploration
