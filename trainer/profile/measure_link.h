// Measures bandwidth and latency of messages between two workers, for the network model of the simulator.
#pragma once

#include "core/model/network_model.h"
#include "trainer/comm/group.h"

namespace sailor::trainer {

// Both workers of the group, ranks 0 and 1, call this function. Both get the same result. The price of the returned
// link is 0.
Link measure_link(Group& group, int rank);

}  // namespace sailor::trainer
