// `sailor render`: the pods that the operator would create for a job on a cluster.
#pragma once

#include <iosfwd>

#include "planner/cli/options.h"

namespace sailor::cli {

struct RenderArguments {
  Inputs inputs;
  std::string trainer_image = "sailor-trainer";
  int max_tensor_parallel = 1;  // what the operator asks for, as its trainers do not split layers
  Format format = Format::kYaml;
};

// Pods as a stream of manifests, without what only the API server knows: the job's UID and its owner references.
Result<void> run_render(const RenderArguments& arguments, std::ostream& out);

}  // namespace sailor::cli
