// SearchReport: how much work a search did.
#pragma once

#include "core/model/units.h"

namespace sailor {

struct SearchReport {
  Seconds elapsed;
  long candidates = 0;         // plans whose fast estimate was below the cutoff
  long pruned_by_memory = 0;   // of these, plans that do not fit in memory
  long pruned_by_bound = 0;    // drafts and plans that were given up because a bound shows that they are not better
  bool was_cut_short = false;  // stopped, or out of its time budget: a longer search might have found a better plan
};

}  // namespace sailor
