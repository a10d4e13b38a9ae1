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
    friend bool operator==(const Change&, const Change&) = default;
  };

  Unit unit = Unit::kNodes;
  std::vector<Change> changes;  // ascending in time, starting at 0; consecutive amounts differ
  Seconds end;                  // the end of the recording
};

// Reads three formats: {"metadata": {"gap_seconds": 300}, "data": [nodes, ...]} (SkyPilot's spot traces),
// [{"Time": seconds, "GPUs": count}, ...], and one line [milliseconds, verb, {"nodes": [...], "duration": ms}] per
// event (Parcae's traces; only the verbs "add" and "remove" change the nodes). An error starts with the place in the
// trace.
Result<Trace> parse_trace(const std::string& text);

// The pool with at most this number of its nodes or GPUs.
Pool limited(Pool pool, Trace::Unit unit, int amount);

}  // namespace sailor
