// The inputs of the experiments, read in place: the paper's artifact, and the plans that were recorded from planners.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/manifest/artifact.h"
#include "core/model/cluster_state.h"
#include "core/model/network_model.h"
#include "core/model/plan.h"
#include "core/model/profile.h"
#include "report/paper/experiments.h"

namespace sailor::paper {

struct Artifact {
  ProfileBook profiles;
  NetworkModel network;
  std::map<Accelerator, int> gpus_per_node;
  std::map<std::string, ArtifactJob> jobs;  // by model
  std::filesystem::path folder;             // for the traces
};

// The error names the missing or wrong file.
Result<Artifact> read_artifact(const std::filesystem::path& folder);

// The job and the cluster of a case. Jobs keep no peer replicas, so that plans are compared by their time and cost
// alone, as in the paper.
JobSpec job_of(const Case& one, const Artifact& artifact);
Result<ClusterState> cluster_of(const Case& one, const Artifact& artifact);

// Time and cost of a plan by one simulator.
struct Outcome {
  double throughput = 0;  // iterations per second
  Dollars cost;           // of an iteration
  std::string violation;  // why the plan does not fit; empty if it does
};

// A plan of the paper's planner ("sailor") or of another one, and what the paper's simulator says of it.
struct RecordedPlan {
  std::string planner;
  Plan plan;
  Outcome outcome;
  Seconds search;
};

// Reads the plans of a folder, Sailor's first, the others by name. The cluster of a recorded plan is that of the case.
Result<std::vector<RecordedPlan>> read_recorded_plans(const std::filesystem::path& folder);

}  // namespace sailor::paper
