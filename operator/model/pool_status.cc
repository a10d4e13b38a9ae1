#include "operator/model/pool_status.h"

#include <fmt/format.h>

#include "core/model/counted.h"
#include "operator/model/unused_pools.h"

namespace sailor {
namespace {

using kube::Json;

bool is_in_use(const ClusterView& view, const PoolDeclaration& declared) {
  const auto found = view.pools.find(declared.key);
  return found != view.pools.end() && found->second.name == declared.name;
}

std::string message_about(const ClusterView& view, const PoolDeclaration& declared) {
  const auto not_used = [](Reason reason) { return fmt::format("Its nodes are not used: {}", why_unused(reason)); };
  if (view.without_kernels.contains(declared.key)) return not_used(Reason::kPoolWithoutKernels);
  if (view.of_unknown_accelerator.contains(declared.key)) return not_used(Reason::kPoolOfUnknownAccelerator);
  const auto other = view.pools.find(declared.key);
  if (other == view.pools.end()) return {};  // the GpuPool is newer than the view
  return fmt::format("GpuPool {} declares the same pool. Delete one of the two.", other->second.name);
}

// Says that nodes of the pool do not have the GPUs that its spec states; empty: all have them.
std::string contradiction_of_nodes(const ClusterView& view, const PoolDeclaration& declared) {
  const NodeView* first = nullptr;
  int nodes = 0;
  int others = 0;
  for (const NodeView& node : view.nodes) {
    if (node.pool != declared.key) continue;
    ++nodes;
    if (node.gpus == declared.gpus_per_node) continue;
    ++others;
    if (first == nullptr) first = &node;
  }
  if (first == nullptr) return {};
  const std::string share = nodes == 1 ? "" : fmt::format(" ({} of {} nodes differ)", others, nodes);
  return fmt::format(
      "spec.gpusPerNode is {}, but node {} has {}{}. Plans count on gpusPerNode for nodes that do not exist yet. "
      "Correct it, or find out why the nodes have another number.",
      declared.gpus_per_node, first->name, counted(first->gpus, "GPU"), share);
}

void add_history(PoolStatus& status, const PoolHistories& histories, const PoolDeclaration& declared) {
  const auto history = histories.find(declared.key);
  if (history == histories.end()) return;
  status.history = history->second.nodes;
  status.node_lifetime = history->second.nodes.node_lifetime(pool_of(declared, 0).expected_node_lifetime());
}

PoolStatus status_of(const PoolStatusInput& input, const std::map<PoolKey, PoolUse>& uses, const Json& gpu_pool) {
  const ClusterView& view = input.view;
  PoolStatus status;
  status.spec_generation = kube::integer_at(gpu_pool, {"metadata", "generation"});
  const auto declared = pool_from_manifest(gpu_pool);
  if (!declared) {
    status.message = fmt::format("The GpuPool cannot be read: {}.", declared.error().message);
    return status;
  }
  status.price_per_gpu = declared->price_per_gpu;
  status.is_list_price = kube::find_at(gpu_pool, {"spec", "pricePerGpuHour"}) == nullptr;
  if (is_in_use(view, *declared)) {
    status.use = uses.at(declared->key);
    status.message = contradiction_of_nodes(view, *declared);
    if (const auto found = view.awaited.find(declared->key); found != view.awaited.end())
      status.awaited = found->second;
    if (const auto found = view.refusals.find(declared->key); found != view.refusals.end())
      status.refusal = found->second;
    add_history(status, input.histories, *declared);
  } else {
    status.message = message_about(view, *declared);
  }
  return status;
}

}  // namespace

std::map<std::string, PoolStatus> pool_statuses(const PoolStatusInput& input) {
  const auto uses = use_of_pools(input.view);
  std::map<std::string, PoolStatus> statuses;
  for (const kube::Object& pool : input.gpu_pools) statuses[kube::name_of(*pool)] = status_of(input, uses, *pool);
  return statuses;
}

Json to_json(const PoolStatus& status) {
  Json json = {
      {"observedGeneration", status.spec_generation},
      {"readyNodes", status.use.ready_nodes},
      {"gpus", {{"allocatable", status.use.allocatable}, {"used", status.use.used}, {"free", status.use.free}}}};
  if (status.price_per_gpu) {
    json["pricePerGpuHour"] = fmt::format("{:.6g}", status.price_per_gpu->value());
    json["priceSource"] = status.is_list_price ? "ListPrice" : "Spec";
  }
  if (status.awaited.pods > 0) {
    json["awaitedNodes"] = status.awaited.pods;
    json["awaitedSince"] = to_rfc3339(status.awaited.since);
  }
  if (const auto& refusal = status.refusal) {
    json["lastRefusal"] = {
        {"time", to_rfc3339(refusal->since)}, {"retryTime", to_rfc3339(refusal->until)}, {"message", refusal->message}};
  }
  if (status.history) {
    json["history"] = to_json(*status.history);
    json["expectedNodeLifetimeHours"] = fmt::format("{:.4g}", status.node_lifetime / Seconds(3600));
  }
  if (!status.message.empty()) json["message"] = status.message;
  return json;
}

}  // namespace sailor
