#include "operator/reconcile/observe/caches.h"

#include "operator/model/cluster_view.h"
#include "operator/model/names.h"

namespace sailor {
namespace {

using kube::Json;

std::optional<Json> without_managed_fields(Json object) {
  if (object.contains("metadata")) object["metadata"].erase("managedFields");
  return object;
}

// Reduces a foreign pod to its identity, its node, its phase and its number of GPUs.
std::optional<Json> gpu_use(const Json& pod) {
  const Json* spec = kube::find_at(pod, {"spec"});
  const int gpus = spec == nullptr ? 0 : gpus_asked_for(*spec);
  if (gpus == 0) return std::nullopt;
  const Json container = {{"resources", {{"limits", {{kGpuResource, gpus}}}}}};
  return Json{
      {"metadata",
       {{"name", kube::name_of(pod)},
        {"namespace", kube::namespace_of(pod)},
        {"uid", kube::uid_of(pod)},
        {"resourceVersion", kube::version_of(pod)}}},
      {"spec", {{"nodeName", kube::text_at(pod, {"spec", "nodeName"})}, {"containers", Json::array({container})}}},
      {"status", {{"phase", kube::text_at(pod, {"status", "phase"})}}}};
}

std::optional<Json> gpu_node(Json node) {
  if (kube::label_of(node, kAcceleratorLabel).empty()) return std::nullopt;
  node["metadata"].erase("managedFields");
  node["metadata"].erase("annotations");
  if (node.contains("status")) {
    node["status"].erase("images");  // the largest part by far
    node["status"].erase("nodeInfo");
    node["status"].erase("volumesInUse");
  }
  return node;
}

}  // namespace

Caches::Caches()
    : jobs(without_managed_fields),
      pods(without_managed_fields),
      foreign_pods(gpu_use),
      nodes(gpu_node),
      pools(without_managed_fields),
      profiles(without_managed_fields),
      records(without_managed_fields) {}

bool Caches::are_synced() const {
  for (const kube::Store* store : {&jobs, &pods, &foreign_pods, &nodes, &pools, &profiles, &records}) {
    if (!store->is_synced()) return false;
  }
  return true;
}

}  // namespace sailor
