// Regroup: the workers of a new generation meet, agree on the step to go on from, and hand each other its state.
#pragma once

#include <memory>
#include <optional>

#include "trainer/elastic/held_state.h"
#include "trainer/elastic/inbox.h"
#include "trainer/elastic/worker_settings.h"
#include "trainer/step/groups.h"

namespace sailor::trainer {

// A worker's place in one generation, ready to train. Destroying it closes all its connections, which is what tells
// the others that this generation is over.
struct Membership {
  int rank = 0;
  std::unique_ptr<Rendezvous> rendezvous;
  std::unique_ptr<Group> everyone;  // leaving workers included
  std::unique_ptr<Groups> groups;   // none for a worker that leaves
  std::int64_t steps_lost = 0;
};

// What a regroup needs to know of this worker.
struct Self {
  int rank = 0;
  std::string host;
};

// Returns when every worker of the generation has what it needs: `held` has exactly the pieces of this worker's role,
// at one common step. Nothing if a newer generation is known before that. Throws PeerLost; then `held` still has all
// that it had, and perhaps more.
std::optional<Membership> regroup(const Assignment& assignment, const Self& self, const Patience& patience,
                                  const Inbox& inbox, HeldState& held);

}  // namespace sailor::trainer
