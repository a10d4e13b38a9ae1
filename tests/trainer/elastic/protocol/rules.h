// Rules: the protocol functions that the exploration calls. They are those of the executables, unless a test replaces
// one by a broken one, to check that the exploration finds the violation.
#pragma once

#include "core/protocol/claim.h"
#include "operator/protocol/fencing.h"
#include "trainer/elastic/protocol/agent_rule.h"
#include "trainer/elastic/protocol/end_of_generation.h"
#include "trainer/elastic/protocol/state_report.h"
#include "trainer/elastic/protocol/transfers.h"
#include "trainer/elastic/protocol/worker_machine.h"

namespace sailor::trainer::exploration {

// How state reaches joining workers, and how long others wait for them, is not part of the protocol's functions but of
// state_stream.h, state_receiver.h and preparation.h. The model has these rules instead.
struct StateStreamingRules {
  bool is_sent_before_the_vote = false;      // false: it is sent after all have voted
  bool counts_a_shard_as_the_whole = false;  // false: a joining worker has only the units that arrived
  bool adds_to_any_state = false;            // false: a worker adds only state of the same step as its own
  bool is_awaited_without_limit = false;     // false: until all have caught up or a limit has passed
};

// The operator's response to a broken path between two pods that answer it (operator/reconcile/decide/broken_paths.h).
// The model has these rules instead of the operator's functions.
struct BrokenPaths {
  bool leave_one_out = true;                     // false: the same generation is made again
  bool delete_pods_that_others_wait_for = true;  // false: only after the membership of the next generation is committed
};

struct Rules {
  decltype(&trainer::after) after = trainer::after;
  decltype(&trainer::accepts) takes = trainer::accepts;
  decltype(&trainer::resume_point) resume_point = trainer::resume_point;
  decltype(&trainer::can_offer) can_offer = trainer::can_offer;
  decltype(&trainer::plan_transfers) plan_transfers = trainer::plan_transfers;
  decltype(&trainer::ends_generation) ends_generation = trainer::ends_generation;
  StateStreamingRules streaming;
  BrokenPaths broken_paths;
  decltype(&sailor::participants) participants = sailor::participants;
  decltype(&sailor::is_fenced) is_fenced = sailor::is_fenced;
  decltype(&sailor::renews_lease) renews_lease = sailor::renews_lease;
  decltype(&sailor::folder_renews) folder_renews = sailor::folder_renews;
  decltype(&sailor::has_lapsed) has_lapsed = sailor::has_lapsed;
};

}  // namespace sailor::trainer::exploration
