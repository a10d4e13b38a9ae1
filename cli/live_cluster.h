// Reads from a cluster what the operator would plan a job with: the nodes and GPUs that are free for it, the other jobs
// and their priorities, the quota of its queue, pools, prices, measured models and the network model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/kubectl.h"
#include "cli/queue_room.h"
#include "core/manifest/source.h"
#include "core/model/network_model.h"
#include "core/model/profile.h"
#include "operator/model/observation.h"

namespace sailor::cli {

struct LiveCluster {
  // What the operator would observe if the job were created now. GPUs of the job's own pods count as its own, because a
  // new plan would use them too; a job that runs has no other pods or status here. The record of such a job is there
  // for what it knows of slow GPUs and of nodes that the job does not use for a while.
  Observation observation;
  std::optional<QueueAnswer> queue;  // what the queue of the job would give it; empty: the job is in none
  ProfileBook profiles;
  NetworkModel network;
  std::vector<std::string> notes;  // what could not be read, or is left out
};

// Reads each object once, with the rights of the user.
Result<LiveCluster> read_live_cluster(const KubectlOptions& options, const SourceDocument& job_document);

}  // namespace sailor::cli
