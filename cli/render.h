// `sailor render`: the pods that the operator would create for a job on a cluster.
#pragma once

#include <iosfwd>

#include "cli/options.h"
#include "planner/planner.h"

namespace sailor::cli {

struct RenderArguments {
  Inputs inputs;
  std::string trainer_image = "sailor-trainer";
  int max_tensor_parallel = PlanOptions{}.max_tensor_parallel;  // the operator's limit
  Format format = Format::kYaml;
};

// Writes the pods as a stream of manifests, without fields that only the API server knows (the job's UID and the owner
// references). Writes to `notes` which pools are left out.
Result<void> run_render(const RenderArguments& arguments, std::ostream& out, std::ostream& notes);

}  // namespace sailor::cli
