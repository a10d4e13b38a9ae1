#include "core/schedule/step_flow.h"

#include <algorithm>

namespace sailor {

StepFlow flow_of(const ScheduleTimes& times, const std::vector<std::vector<int>>& routes) {
  StepFlow flow{.microbatches = static_cast<int>(routes.front().size())};
  for (std::size_t stage = 0; stage < times.replicas.size(); ++stage) {
    flow.first_worker.push_back(static_cast<int>(flow.workers.size()));
    for (const ReplicaTimes& replica : times.replicas[stage]) {
      flow.workers.push_back(
          {replica.forward.count(), replica.backward.count(), replica.cap, replica.link_class, replica.nic});
      flow.nics = std::max(flow.nics, replica.nic + 1);
    }
    flow.routes.insert(flow.routes.end(), routes[stage].begin(), routes[stage].end());
    if (stage + 1 == times.replicas.size()) continue;
    flow.boundaries.push_back({static_cast<int>(flow.links.size()), times.link_classes});
    for (const LinkTimes& link : times.links[stage]) {
      flow.links.push_back({link.latency.count(), link.occupancy.count(), link.nic.count()});
    }
  }
  flow.first_worker.push_back(static_cast<int>(flow.workers.size()));
  return flow;
}

}  // namespace sailor
