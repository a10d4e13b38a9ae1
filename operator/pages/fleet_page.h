// The page of all jobs and pools: what runs, what waits, what it costs, and which GPUs are free. A self-contained HTML
// document without scripts. Pure.
#pragma once

#include <string>
#include <vector>

#include "operator/model/cluster_view.h"
#include "operator/model/job_in_cluster.h"

namespace sailor {

struct ShownFleet {
  std::vector<JobInCluster> jobs;  // in the order in which they are shown
  ClusterView cluster;
};

std::string fleet_page(const ShownFleet& view, Time now);

}  // namespace sailor
