#include "cli/render.h"

#include <ostream>

#include "cli/input_files.h"
#include "cli/results.h"
#include "operator/reconcile/decide/placement.h"
#include "operator/render/pod.h"

namespace sailor::cli {
namespace {

// A candidate for every node of the cluster. The scheduler or the autoscaler will find or create the real nodes.
std::vector<UsableNode> nodes_of(const ClusterState& cluster) {
  std::vector<UsableNode> nodes;
  for (const Pool& pool : cluster.pools) {
    for (const NodeGroup& group : pool.nodes) {
      const UsableNode node{.node = "", .node_uid = "", .pool = pool.key, .gpus = group.free_gpus, .pod = ""};
      nodes.insert(nodes.end(), static_cast<std::size_t>(group.count), node);
    }
  }
  return nodes;
}

ClusterView view_of(const ClusterState& cluster) {
  ClusterView view;
  for (const Pool& pool : cluster.pools) {
    PoolDeclaration& declaration = view.pools[pool.key];
    declaration.key = pool.key;
    declaration.region = pool.region;
    declaration.gpus_per_node = pool.gpus_per_node;
    declaration.price_per_gpu = pool.price_per_gpu;
    declaration.whole_nodes = pool.whole_nodes;
    declaration.node_lifetime = pool.node_lifetime;
  }
  return view;
}

JobView job_view(const InputFiles& world) {
  JobView job;
  job.key = world.job.key;
  job.spec = world.job;
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
  const ClusterView view = view_of(world->cluster);
  const auto nodes = nodes_of(world->cluster);
  const auto placement = place({world->job.key.name, planned->plan, nodes, view, {}});
  if (!placement) return tl::unexpected(placement.error());
  print_left_out_pools(*world, notes);
  const OperatorSettings settings{.trainer_image = arguments.trainer_image, .callback = ""};
  const JobView job = job_view(*world);
  nlohmann::json pods = nlohmann::json::array();
  for (const Slot& slot : placement->slots) pods.push_back(without_identity(render_pod(job, slot, 1, settings)));
  if (arguments.format == Format::kJson) {
    out << nlohmann::json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", pods}}.dump(2) << "\n";
    return {};
  }
  for (const auto& pod : pods) out << "---\n" << as_yaml(pod);
  return {};
}

}  // namespace sailor::cli
