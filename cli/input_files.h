// Reads the files that most commands need: job, cluster and profiles.
#pragma once

#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/live_cluster.h"
#include "cli/options.h"
#include "core/manifest/files.h"
#include "core/model/slow_nodes.h"
#include "simulator/simulator.h"

namespace sailor::cli {

struct InputFiles {
  JobSpec job;
  SourceDocument job_document;
  ClusterState cluster;
  ClusterState healthy;                                                  // the cluster without slow nodes
  std::vector<SlowNode> slow;                                            // the nodes that are slow in `cluster`
  std::optional<LiveCluster> live;                                       // empty: the cluster is a file
  std::map<PoolKey, std::map<std::string, std::string>> node_selectors;  // ClusterFile::node_selectors
  std::unique_ptr<Simulator> simulator;
  std::vector<std::string> notes;  // what in the files has no effect, and for what slow GPUs count
};

Result<InputFiles> read_input_files(const Inputs& inputs);

// Returns the built-in model of this name, or the one that the file of this name contains.
Result<ExecutionModel> named_execution_model(const std::string& name);

// Prints a note for each pool that no plan for the job can use because its accelerator is unknown. For commands whose
// results have no notes.
void print_left_out_pools(const InputFiles& world, std::ostream& notes);

// Fails if several files are the standard input ("-"), which can be read only once.
Result<void> check_standard_input(const std::vector<std::string>& files);
Result<void> check_standard_input(const Inputs& inputs, std::vector<std::string> others = {});

// Reads a plan, or an object with a key `plan`. The file "-" is the standard input.
Result<Plan> read_plan(const std::string& file);

}  // namespace sailor::cli
