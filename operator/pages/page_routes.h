// The paths of the pages: "/" shows all jobs and pools, "/jobs/NAMESPACE/NAME" one job. They only read.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/net/http_server.h"
#include "operator/model/cluster_view.h"
#include "operator/model/record.h"
#include "operator/reconcile/observe/caches.h"

namespace sailor {

struct PageSources {
  std::function<ClusterView()> cluster;
  std::function<Result<GenerationRecord>(const JobKey& job, const std::string& job_uid)> record;
  Clock clock = system_time;
};

// The caches and what the sources refer to must outlive the routes. Until the caches are filled, pages say so with 503.
std::vector<net::Route> page_routes(const Caches& caches, const PageSources& sources);

}  // namespace sailor
