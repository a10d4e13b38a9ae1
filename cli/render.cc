#include "cli/render.h"

#include <ostream>

#include "cli/input_files.h"
#include "cli/placed_plan.h"
#include "cli/results.h"
#include "operator/model/node_labels.h"
#include "operator/render/pod.h"

namespace sailor::cli {
namespace {

JobView job_view(const InputFiles& world) {
  JobView job;
  job.key = world.job.key;
  job.spec = world.job;
  job.priority_class = priority_class_of(world.job_document.value);
  job.pod_template = world.job_document.value.at("spec").value("podTemplate", nlohmann::json());
  return job;
}

nlohmann::json without_identity(nlohmann::json pod) {
  pod["metadata"].erase("ownerReferences");
  std::erase_if(pod["metadata"]["labels"].get_ref<nlohmann::json::object_t&>(),
                [](const auto& label) { return label.second == ""; });
  return pod;
}

}  // namespace

Result<void> run_render(const RenderArguments& arguments, std::ostream& out, std::ostream& notes) {
  const auto world = read_input_files(arguments.inputs);
  if (!world) return tl::unexpected(world.error());
  PlanOptions options;
  options.max_tensor_parallel = arguments.max_tensor_parallel;
  const auto planned = Planner(*world->simulator).plan(world->job, world->cluster, options, {});
  if (!planned) return tl::unexpected(Error(planned.error()).within("planning job " + to_string(world->job.key)));
  const auto placement = placed(planned->plan, world->cluster, world->job.key.name);
  if (!placement) return tl::unexpected(placement.error());
  print_left_out_pools(*world, notes);
  const OperatorSettings settings{.trainer_image = arguments.trainer_image, .callback = ""};
  const JobView job = job_view(*world);
  nlohmann::json pods = nlohmann::json::array();
  for (const Slot& slot : placement->slots) {
    const NewNode node{labels_of_new_node(slot.pool, /*is_on_gke=*/true, world->node_selectors.at(slot.pool))};
    pods.push_back(without_identity(render_pod(job, slot, 1, settings, node)));
  }
  if (arguments.format == Format::kJson) {
    out << nlohmann::json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", pods}}.dump(2) << "\n";
    return {};
  }
  for (const auto& pod : pods) out << "---\n" << as_yaml(pod);
  return {};
}

}  // namespace sailor::cli
