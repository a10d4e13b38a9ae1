// Restores state that no worker has: from the newest readable checkpoint, or from the seed if there is none.
#pragma once

#include "trainer/comm/group.h"
#include "trainer/comm/rendezvous.h"
#include "trainer/elastic/state/held_state.h"
#include "trainer/elastic/state/state_transfer.h"

namespace sailor::trainer {

// All workers of the generation call this. They use the same checkpoint: rank 0 chooses it, and if any of them cannot
// read its shards (a damaged file), all try the next older one.
void restore(const Assignment& assignment, const TransferTarget& target, Group& everyone, Rendezvous& rendezvous,
             HeldState& held);

}  // namespace sailor::trainer
