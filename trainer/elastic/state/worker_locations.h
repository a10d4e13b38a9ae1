// Where the workers of an assignment are.
#pragma once

#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/elastic/protocol/transfers.h"

namespace sailor::trainer {

inline std::vector<Site> sites_of(const Assignment& assignment) {  // by rank
  std::vector<Site> sites;
  for (const WorkerSlot& worker : assignment.workers) {
    sites.push_back({worker.agent, assignment.agents.at(static_cast<std::size_t>(worker.agent)).pool.zone});
  }
  return sites;
}

}  // namespace sailor::trainer
