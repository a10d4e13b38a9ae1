// SearchReport: how much work a search did.
#pragma once

#include "core/model/units.h"

namespace sailor {

struct SearchReport {
  Seconds elapsed;
  long candidates = 0;
  long pruned_by_memory = 0;
  long pruned_by_bound = 0;
  bool was_cut_short = false;  // stopped or out of its budget: a longer search might have found better
};

}  // namespace sailor
