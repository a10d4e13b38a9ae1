// Measures bandwidth and latency of messages between two workers, for the network model of the simulator.
#pragma once

#include "core/model/network_model.h"
#include "trainer/comm/group.h"

namespace sailor::trainer {

// Both workers call it; they have the ranks 0 and 1 of the group. Both get the same result. Its price is 0.
Link measure_link(Group& group, int rank);

}  // namespace sailor::trainer
