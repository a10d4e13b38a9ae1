// Reduction: drops information that can no longer matter, so that states that differ only in it become equal.
#pragma once

#include "tests/trainer/elastic/protocol/world.h"

namespace sailor::trainer::exploration {

// The successors of the world and its violations are the same before and after.
void reduce(World& world);

}  // namespace sailor::trainer::exploration
