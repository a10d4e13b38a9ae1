// Reads from a cluster what the operator would plan a job with: the nodes and GPUs that are free for it, pools, prices,
// measured models and the network model.
#pragma once

#include <string>
#include <vector>

#include "cli/kubectl.h"
#include "core/manifest/source.h"
#include "core/model/cluster_state.h"
#include "core/model/job_spec.h"
#include "core/model/network_model.h"
#include "core/model/profile.h"

namespace sailor::cli {

struct LiveCluster {
  ClusterState existing;  // the nodes that exist
  ClusterState growable;  // and those by which declared pools can grow
  ProfileBook profiles;
  NetworkModel network;
  std::vector<std::string> notes;  // what could not be read, or is left out
};

// GPUs of the job's own pods count as free, because a new plan would use them too. GPUs that another job has chosen
// count as used before its pods exist, as in the operator.
Result<LiveCluster> read_live_cluster(const KubectlOptions& options, const JobSpec& job,
                                      const SourceDocument& job_document);

}  // namespace sailor::cli
