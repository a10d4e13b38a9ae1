#include "operator/reconcile/observe/caches.h"

#include <algorithm>
#include <initializer_list>

#include "operator/model/cluster_view.h"
#include "operator/model/names.h"
#include "operator/model/node_labels.h"
#include "operator/model/record_object.h"
#include "operator/model/scale_up.h"
#include "operator/reconcile/observe/pod_view.h"

namespace sailor {
namespace {

using kube::Json;

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

// Copies the fields of `from` that it has.
Json with_fields(const Json& from, std::initializer_list<const char*> fields) {
  Json kept = Json::object();
  for (const char* field : fields) {
    if (const auto found = from.find(field); found != from.end()) kept[field] = *found;
  }
  return kept;
}

Json gpus_of_containers(const Json& containers) {
  Json kept = Json::array();
  for (const Json& container : containers) {
    const Json* gpus = kube::find_at(container, {"resources", "limits", kGpuResource});
    if (gpus != nullptr) kept.push_back({{"resources", {{"limits", {{kGpuResource, *gpus}}}}}});
  }
  return kept;
}

Json metadata_as_seen(const Json& metadata) {
  Json kept =
      with_fields(metadata, {"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"});
  if (const Json* labels = kube::find_at(metadata, {"labels"}))
    kept["labels"] = with_fields(*labels, {kManagedByLabel, kJobNameLabel, kJobUidLabel});
  if (const Json* annotations = kube::find_at(metadata, {"annotations"}))
    kept["annotations"] = with_fields(*annotations, {kNodeAnnotation, kPoolAnnotation, kCreatedForAnnotation});
  for (const Json& owner : kube::list_at(metadata, {"ownerReferences"}))
    kept["ownerReferences"].push_back(with_fields(owner, {"kind", "name", "uid", "controller"}));
  return kept;
}

// Reduces a pod of a job to what pod_view() and the orphans need. Its volumes and variables would be most of the memory
// of an operator with thousands of pods.
std::optional<Json> pod_as_seen(const Json& pod) {
  Json kept = with_fields(pod, {"apiVersion", "kind"});
  kept["metadata"] = metadata_as_seen(pod.at("metadata"));
  if (const Json* spec = kube::find_at(pod, {"spec"})) {
    kept["spec"] = with_fields(*spec, {"nodeName"});
    for (const char* list : {"containers", "initContainers"})
      kept["spec"][list] = gpus_of_containers(kube::list_at(*spec, {list}));
  }
  const Json* status = kube::find_at(pod, {"status"});
  if (status == nullptr) return kept;
  kept["status"] = with_fields(*status, {"phase", "reason", "podIP"});
  if (const Json* scheduled = kube::find_condition(pod, "PodScheduled"))
    kept["status"]["conditions"] = Json::array({*scheduled});
  for (const Json& container : kube::list_at(*status, {"containerStatuses"}))
    kept["status"]["containerStatuses"].push_back(with_fields(container, {"name", "state"}));
  return kept;
}

std::string label_tag(const std::string& namespace_name, const std::string& label) {
  return "job/" + namespace_name + "/" + label;
}

// Reduces a node to what node_view() needs. Of a node without an accelerator that is its identity, which says that the
// node exists, and in which cloud. A node that loses its label does not end the pods on it. Without a resourceVersion,
// the store reports no change when only the rest changes.
std::optional<Json> identity_or_gpu_node(const Json& node) {
  if (!names_accelerator(node)) {
    Json identity = {{"metadata", {{"name", kube::name_of(node)}, {"uid", kube::uid_of(node)}}}};
    if (const Json* provider = kube::find_at(node, {"spec", "providerID"})) identity["spec"]["providerID"] = *provider;
    return identity;
  }
  Json kept = {{"metadata", with_fields(node.at("metadata"), {"name", "uid", "resourceVersion", "labels",
                                                              "creationTimestamp", "deletionTimestamp"})}};
  if (const Json* spec = kube::find_at(node, {"spec"}))
    kept["spec"] = with_fields(*spec, {"taints", "unschedulable", "providerID"});
  if (const Json* allocatable = kube::find_at(node, {"status", "allocatable"}))
    kept["status"]["allocatable"] = with_fields(*allocatable, {kGpuResource});
  for (const Json& condition : kube::list_at(node, {"status", "conditions"})) {
    kept["status"]["conditions"].push_back(with_fields(condition, {"type", "status", "lastHeartbeatTime"}));
  }
  return kept;
}

std::vector<std::string> tags_of_pod(const Json& pod) {
  return {label_tag(kube::namespace_of(pod), kube::label_of(pod, kJobNameLabel)), node_tag(node_of_pod(pod))};
}

// Pods of Sailor in the watched namespaces are in the other store.
kube::Store::Trim foreign_gpu_use(const std::vector<std::string>& namespaces) {
  return [namespaces](const Json& pod) -> std::optional<Json> {
    const bool is_watched =
        namespaces.empty() || std::ranges::find(namespaces, kube::namespace_of(pod)) != namespaces.end();
    if (is_watched && !kube::label_of(pod, kJobNameLabel).empty()) return std::nullopt;
    return gpu_use(pod);
  };
}

std::optional<Json> generation_shown(Json plan_map) { return without_plan(std::move(plan_map)); }

// Reduces an Event to what it says about which pod.
std::optional<Json> word_about_pod(Json event) {
  if (kube::text_at(event, {"involvedObject", "kind"}) != "Pod") return std::nullopt;
  for (const char* field : {"source", "reportingComponent", "reportingInstance", "action", "related"})
    event.erase(field);
  return event;
}

std::optional<Json> word_of_autoscaler(Json event) {
  return is_about_new_node(event) ? word_about_pod(std::move(event)) : std::nullopt;
}

std::optional<Json> start_failure(Json event) {
  return is_start_failure(kube::text_at(event, {"reason"})) ? word_about_pod(std::move(event)) : std::nullopt;
}

std::vector<std::string> tags_of_record(const Json& record) {
  std::vector<std::string> tags;
  for (const std::string& node : nodes_of(record)) tags.push_back(node_tag(node));
  return tags;
}

std::vector<std::string> tags_of_event(const Json& event) {
  return {pod_tag(kube::text_at(event, {"involvedObject", "uid"}))};
}

std::vector<std::string> tags_of_workload(const Json& workload) {
  return {label_tag(kube::namespace_of(workload), kube::label_of(workload, kJobNameLabel))};
}

}  // namespace

std::string job_tag(const JobKey& job) { return label_tag(job.namespace_name, short_job_name(job.name)); }
std::string node_tag(const std::string& node) { return "node/" + node; }
std::string pod_tag(const std::string& pod_uid) { return "pod/" + pod_uid; }

Caches::Caches(const std::vector<std::string>& namespaces, bool has_queues)
    : pods(pod_as_seen, tags_of_pod),
      foreign_pods(foreign_gpu_use(namespaces),
                   [](const Json& pod) { return std::vector{node_tag(node_of_pod(pod))}; }),
      nodes(identity_or_gpu_node),
      records(nullptr, tags_of_record),
      plan_maps(generation_shown),
      scale_ups(word_of_autoscaler, tags_of_event),
      karpenter_words(word_of_autoscaler, tags_of_event),
      start_failures(start_failure, tags_of_event),
      workloads(nullptr, tags_of_workload) {
  if (!namespaces.empty()) {
    for (kube::Store* store :
         {&jobs, &pods, &records, &plan_maps, &scale_ups, &karpenter_words, &start_failures, &workloads})
      store->expect_lists_of(namespaces);
  }
  if (has_queues) return;
  for (kube::Store* store : {&workloads, &flavors, &queue_priorities}) store->expect_lists_of({});
}

bool Caches::are_synced() const {
  for (const kube::Store* store :
       {&jobs, &pods, &foreign_pods, &nodes, &pools, &priority_classes, &profiles, &records, &plan_maps, &scale_ups,
        &karpenter_words, &start_failures, &workloads, &flavors, &queue_priorities}) {
    if (!store->is_synced()) return false;
  }
  return true;
}

}  // namespace sailor
