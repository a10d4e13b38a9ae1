// World's autoscaler: it makes nodes for pods that wait for new ones, or says why it does not.
#include <fmt/format.h>

#include "operator/model/names.h"
#include "operator/model/node_labels.h"
#include "tests/operator/world.h"

namespace sailor::testing {
namespace {

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kNodes = "/api/v1/nodes";
constexpr const char* kEvents = "/api/v1/namespaces/default/events";

Json new_node(const std::string& name, const Json& pod, int gpus, Time now) {
  const Json ready = {{"type", "Ready"}, {"status", "True"}, {"lastHeartbeatTime", to_rfc3339(now)}};
  return {{"metadata", {{"name", name}, {"labels", *kube::find_at(pod, {"spec", "nodeSelector"})}}},
          {"spec", Json::object()},
          {"status", {{"allocatable", {{kGpuResource, std::to_string(gpus)}}}, {"conditions", Json::array({ready})}}}};
}

// Returns the GPUs of a node of the pool in the zone that the pod asks for.
int gpus_of_new_node(const std::vector<Json>& pools, const Json& pod) {
  for (const Json& pool : pools) {
    if (kube::text_at(pool, {"spec", "zone"}) == kube::text_at(pod, {"spec", "nodeSelector", kZoneLabel}))
      return static_cast<int>(kube::integer_at(pool, {"spec", "gpusPerNode"}));
  }
  return 0;
}

Json bound(Json pod, const std::string& node, Time now) {
  pod["spec"]["nodeName"] = node;
  pod["status"]["conditions"] =
      Json::array({{{"type", "PodScheduled"}, {"status", "True"}, {"lastTransitionTime", to_rfc3339(now)}}});
  return pod;
}

}  // namespace

std::vector<Json> World::pods_without_node() const {
  std::vector<Json> pods = api_server.all("pods");
  std::erase_if(pods, [](const Json& pod) {
    const bool is_of_a_job = !kube::annotation_of(pod, kPoolAnnotation).empty();
    return !is_of_a_job || !node_of_pod(pod).empty() || kube::is_deleting(pod);
  });
  return pods;
}

std::vector<std::string> World::zones_of_awaited_nodes() const {
  std::vector<std::string> zones;
  for (const Json& pod : pods_without_node()) zones.push_back(kube::text_at(pod, {"spec", "nodeSelector", kZoneLabel}));
  return zones;
}

std::vector<std::string> World::make_nodes(int most) {
  std::vector<std::string> names;
  for (const Json& pod : pods_without_node()) {
    if (std::ssize(names) == most) break;
    names.push_back(fmt::format("new-{}", ++nodes_made_));
    api_server.put(kNodes, new_node(names.back(), pod, gpus_of_new_node(api_server.all("gpupools"), pod), now));
    api_server.put(kPods, bound(pod, names.back(), now));
  }
  return names;
}

void World::say_of_new_nodes(const std::string& reason, const std::string& message, const char* source) {
  for (const Json& pod : pods_without_node()) {
    const Json object = {{"kind", "Pod"}, {"name", kube::name_of(pod)}, {"uid", kube::uid_of(pod)}};
    api_server.put(kEvents, {{"metadata", {{"name", kube::name_of(pod) + "." + reason}, {"namespace", "default"}}},
                             {"involvedObject", object},
                             {"reason", reason},
                             {"message", message},
                             {"lastTimestamp", to_rfc3339(now)},
                             {"source", {{"component", source}}}});
  }
}

}  // namespace sailor::testing
