// Rules: the protocol's functions as the exploration calls them. They are the executables' own, unless a test breaks
// one to see that the exploration finds it.
#pragma once

#include "operator/protocol/fencing.h"
#include "trainer/elastic/protocol/agent_machine.h"
#include "trainer/elastic/protocol/holding.h"
#include "trainer/elastic/protocol/transfers.h"
#include "trainer/elastic/protocol/vote.h"
#include "trainer/elastic/protocol/worker_machine.h"

namespace sailor::trainer::exploration {

// How state gets to followers, and for how long they are waited for, is the shell's work (state_stream.h,
// state_receiver.h, preparation.h), and mirrored here.
struct Following {
  bool is_fed_before_the_vote = false;     // else once all have voted
  bool keeps_any_step = false;             // else only what is said to be of the generation's last
  bool is_whole_with_a_part = false;       // else a follower holds what has come
  bool is_waited_for_without_end = false;  // else until all have caught up, or a limit has passed
};

// Likewise, what the operator does about a broken path between two pods that answer it
// (operator/reconcile/decide/broken_paths.h).
struct CutPaths {
  bool leave_one_out = true;          // else the same generation is made again
  bool end_who_is_waited_for = true;  // else only once the next generation is sealed
};

struct Rules {
  decltype(&trainer::after) after = trainer::after;
  decltype(&trainer::takes) takes = trainer::takes;
  decltype(&trainer::resume_point) resume_point = trainer::resume_point;
  decltype(&trainer::can_offer) can_offer = trainer::can_offer;
  decltype(&trainer::plan_transfers) plan_transfers = trainer::plan_transfers;
  decltype(&trainer::ends_generation) ends_generation = trainer::ends_generation;
  Following following;
  CutPaths cut_paths;
  decltype(&sailor::participants) participants = sailor::participants;
  decltype(&sailor::is_fenced) is_fenced = sailor::is_fenced;
  decltype(&sailor::renews_lease) renews_lease = sailor::renews_lease;
};

}  // namespace sailor::trainer::exploration
