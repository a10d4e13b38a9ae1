// Reduction: drops information that can no longer matter, so that states that differ only in it become equal.
#pragma once

#include "tests/trainer/elastic/protocol/world.h"

namespace sailor::trainer::exploration {

// The world has the same successors and violations before and after the reduction.
void reduce(World& world);

}  // namespace sailor::trainer::exploration
