// Returns the locations of the workers of an assignment. The node of a worker is the index of its agent.
#pragma once

#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/elastic/protocol/transfers.h"

namespace sailor::trainer {

inline std::vector<WorkerLocation> locations_of(const Assignment& assignment) {  // indexed by rank
  std::vector<WorkerLocation> locations;
  locations.reserve(assignment.workers.size());
  for (const WorkerSlot& worker : assignment.workers) {
    locations.push_back({worker.agent, assignment.agents.at(static_cast<std::size_t>(worker.agent)).pool.zone});
  }
  return locations;
}

}  // namespace sailor::trainer
