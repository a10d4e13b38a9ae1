// The page of a job: what it does or waits for, how fast it is, where its time and money went, its plan, and what held
// it back. A self-contained HTML document without scripts. Pure.
#pragma once

#include <optional>
#include <string>

#include "operator/model/cluster_view.h"
#include "operator/model/job_in_cluster.h"
#include "operator/model/record.h"

namespace sailor {

struct ShownJob {
  JobInCluster job;
  std::optional<GenerationRecord> record;  // empty: the job has none, or it cannot be used
  ClusterView cluster;
};

std::string job_page(const ShownJob& view, Time now);

}  // namespace sailor
