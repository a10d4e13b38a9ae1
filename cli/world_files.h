// The files that most commands read: job, cluster, profiles.
#pragma once

#include <memory>

#include "cli/options.h"
#include "core/manifest/files.h"
#include "simulator/simulator.h"

namespace sailor::cli {

struct WorldFiles {
  JobSpec job;
  SourceDocument job_document;
  ClusterState cluster;
  std::unique_ptr<Simulator> simulator;
};

Result<WorldFiles> read_world(const Inputs& inputs);

// The standard input ("-") can be read once.
Result<void> check_standard_input(std::initializer_list<std::string_view> files);

// A bare plan, or an object with a key `plan`; "-" is the standard input.
Result<Plan> read_plan(const std::string& file);

}  // namespace sailor::cli
