// Restore: state that no worker holds: from the newest readable checkpoint, or from the seed where there is none.
#pragma once

#include "trainer/comm/group.h"
#include "trainer/elastic/state/held_state.h"
#include "trainer/elastic/state/state_transfer.h"

namespace sailor::trainer {

// Called by all workers of the generation. They use the same checkpoint: rank 0 picks it, and if one of them cannot
// read its layer states (a damaged file), all go on to the next older one.
void restore(const Assignment& assignment, const Taker& taker, Group& everyone, Rendezvous& rendezvous,
             HeldState& held);

}  // namespace sailor::trainer
