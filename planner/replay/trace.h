// Trace: how many nodes or GPUs of a pool were available over time, as recorded from real spot capacity.
#pragma once

#include <string>
#include <vector>

#include "core/model/cluster_state.h"

namespace sailor {

struct Trace {
  enum class Unit { kNodes, kGpus };
  struct Change {
    Seconds at;
    int amount = 0;  // nodes or GPUs that are available from this time on
    // The nodes that are available from this time on, in alphabetical order; empty if the trace does not name nodes.
    std::vector<std::string> nodes = {};
    friend bool operator==(const Change&, const Change&) = default;
  };

  Unit unit = Unit::kNodes;
  bool names_nodes = false;
  std::vector<Change> changes;  // ascending in time, starting at 0; neighbours differ
  Seconds end;                  // the end of the recording
};

struct PriceChange {
  Seconds at;
  DollarsPerHour per_gpu;
  friend bool operator==(const PriceChange&, const PriceChange&) = default;
};

// The pool with at most this number of its nodes or GPUs.
Pool limited(Pool pool, Trace::Unit unit, int amount);

}  // namespace sailor
