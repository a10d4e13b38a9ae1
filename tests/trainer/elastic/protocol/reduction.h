// Tidy: forgets what can matter no more, so that worlds that differ only in it are one.
#pragma once

#include "tests/trainer/elastic/protocol/world.h"

namespace sailor::trainer::exploration {

// What follows from a world is the same before and after, and so is what it complains of.
void tidy(World& world);

}  // namespace sailor::trainer::exploration
