// What the operator does about a record with times in the future: its machine's clock was set back after another
// operator had written them, or the clock of that operator's machine was ahead.
#pragma once

#include <optional>

#include "operator/model/observation.h"

namespace sailor {

// Returns the observation with a record whose times are all moved back, so that the newest of them is now, if something
// in the record happened more than a minute from now. Otherwise the job would wait until the clock has passed these
// times: with a voluntary change, for a pool that has refused a node, or before it restarts.
std::optional<Observation> with_corrected_times(const Observation& observation);

}  // namespace sailor
