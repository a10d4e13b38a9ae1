// SearchReport: how much work one call of the planner did.
#pragma once

#include "core/model/units.h"

namespace sailor {

struct SearchReport {
  Seconds elapsed;            // the time of the whole call: search, proof and alternatives; the planner sets it
  long candidates = 0;        // plans whose fast estimate was below the cutoff
  long pruned_by_memory = 0;  // how many of the candidates do not fit in memory
  long pruned_by_bound = 0;   // drafts and plans that a lower bound showed to be no better than a known plan
  // True: the call was stopped, or its time budget ran out, during the search or the proof; a longer call might find a
  // better plan or a tighter bound. The planner sets it.
  bool was_cut_short = false;

  // Adds the plans that another search has counted.
  void add(const SearchReport& other) {
    candidates += other.candidates;
    pruned_by_memory += other.pruned_by_memory;
    pruned_by_bound += other.pruned_by_bound;
  }
};

}  // namespace sailor
