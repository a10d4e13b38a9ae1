// The command-line arguments.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/kubectl.h"
#include "planner/planner.h"

namespace sailor::cli {

enum class Format { kTable, kJson, kYaml, kHtml, kMarkdown };

struct Inputs {
  std::string job;
  std::string cluster;   // file; empty: `live`
  std::string profiles;  // folder; empty: those of the live cluster, or else only analytic profiles
  // The name of a built-in execution model, or a file with one; empty: the cluster's, or else the default.
  std::string execution;
  std::vector<std::string> slow;  // parse_slow_nodes()
  // Reads the cluster and its profiles from Kubernetes, if `cluster` is empty.
  std::optional<KubectlOptions> live = {};
};

struct PlanArguments {
  Inputs inputs;
  PlanSpace space = PlanSpace::kFlow;
  std::string current;  // file of the running plan; empty: none
  std::optional<double> lifetime_seconds;
  bool is_repair = false;  // search only near `current`
  std::optional<double> budget_seconds;
  std::optional<double> proof_seconds;
  int max_tensor_parallel = 8;
  Format format = Format::kTable;
  bool is_from_cluster = false;  // then `kubectl` becomes Inputs::live
  KubectlOptions kubectl = {};
};

struct SimulateArguments {
  Inputs inputs;
  std::string plan;
  std::string timeline;  // output file for a trace of the step; empty: none
  Format format = Format::kTable;
};

struct EvaluateArguments {
  std::string runs;      // folder of measured runs
  std::string profiles;  // folder
  Format format = Format::kTable;
  std::string execution;  // as in Inputs; empty: that of the cluster on which a run was made
};

}  // namespace sailor::cli
