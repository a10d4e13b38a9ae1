// Trace: how much of a pool there was when, as recorded of real spot capacity.
#pragma once

#include <string>
#include <vector>

#include "core/model/cluster_state.h"

namespace sailor {

struct Trace {
  enum class Unit { kNodes, kGpus };
  struct Change {
    Seconds at;
    int amount = 0;  // from then on
    friend bool operator==(const Change&, const Change&) = default;
  };

  Unit unit = Unit::kNodes;
  std::vector<Change> changes;  // ascending in time from 0 on, no two in a row of the same amount
  Seconds end;                  // of what was recorded
};

// Three formats: {"metadata": {"gap_seconds": 300}, "data": [nodes, ...]} (SkyPilot's spot traces),
// [{"Time": seconds, "GPUs": count}, ...], and a line [milliseconds, verb, {"nodes": [...], "duration": ms}] for each
// event (Parcae's; "add" and "remove" count). An error begins with the place in the trace.
Result<Trace> parse_trace(const std::string& text);

// The pool with so many of its nodes or GPUs, never more than it has.
Pool limited(Pool pool, Trace::Unit unit, int amount);

}  // namespace sailor
