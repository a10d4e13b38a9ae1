// How fast messages travel between workers: what the simulator's network model wants to know.
#pragma once

#include "core/model/network_model.h"
#include "trainer/comm/group.h"

namespace sailor::trainer {

// Called by both workers, which have the ranks 0 and 1 of the group; both get the same figures. The price is left at 0.
Link measure_link(Group& group, int rank);

}  // namespace sailor::trainer
