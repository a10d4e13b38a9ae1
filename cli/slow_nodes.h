// Reads the option --slow, which names nodes with slow GPUs.
#pragma once

#include <string>
#include <vector>

#include "core/model/slow_nodes.h"

namespace sailor::cli {

// Each text names one node: "POOL=SLOWDOWN", with commas between several slow GPUs, and "8x2.5" for eight alike.
Result<std::vector<SlowNode>> parse_slow_nodes(const std::vector<std::string>& texts);

// Returns a sentence for each kind of slow GPUs: for which slowdown they count, because that is rounded up.
std::vector<std::string> notes_on_slow_nodes(const std::vector<SlowNode>& nodes);

}  // namespace sailor::cli
