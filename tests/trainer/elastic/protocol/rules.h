// Rules: the protocol's functions as the exploration calls them. They are the executables' own, unless a test breaks
// one to see that the exploration finds it.
#pragma once

#include "operator/protocol/fencing.h"
#include "trainer/elastic/protocol/agent_machine.h"
#include "trainer/elastic/protocol/holding.h"
#include "trainer/elastic/protocol/transfers.h"
#include "trainer/elastic/protocol/worker_machine.h"

namespace sailor::trainer::exploration {

struct Rules {
  decltype(&trainer::after) after = trainer::after;
  decltype(&trainer::takes) takes = trainer::takes;
  decltype(&trainer::resume_point) resume_point = trainer::resume_point;
  decltype(&trainer::can_offer) can_offer = trainer::can_offer;
  decltype(&trainer::plan_transfers) plan_transfers = trainer::plan_transfers;
  decltype(&sailor::participants) participants = sailor::participants;
  decltype(&sailor::is_fenced) is_fenced = sailor::is_fenced;
  decltype(&sailor::renews_lease) renews_lease = sailor::renews_lease;
};

}  // namespace sailor::trainer::exploration
