// Restores the state when the workers together do not have it: from the newest readable checkpoint of the job, else
// from that of the job that it resumes from, else the initial state. The initial state comes from
// training.initialWeights if the job names them, else from the seed.
#pragma once

#include "trainer/comm/group.h"
#include "trainer/comm/rendezvous.h"
#include "trainer/elastic/state/held_state.h"
#include "trainer/elastic/state/state_transfer.h"

namespace sailor::trainer {

// All workers of the generation call this function. They use the same checkpoint: rank 0 chooses it. If any worker
// cannot read its shards (a damaged file), all workers try the next older checkpoint. The state of this worker's target
// is in `held.arrived` afterwards; what `held` contained before is dropped. Throws as the functions of Group do,
// and CannotTrain if the state does not fit the job, or if the job is to resume from another one that has no such
// checkpoint.
void restore(const Assignment& assignment, const TransferTarget& target, Group& everyone, Rendezvous& rendezvous,
             HeldState& held);

}  // namespace sailor::trainer
