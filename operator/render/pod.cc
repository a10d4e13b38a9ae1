#include "operator/render/pod.h"

#include <fmt/format.h>

#include "core/protocol/credentials.h"
#include "core/protocol/ports.h"
#include "operator/kube/resource.h"
#include "operator/model/names.h"
#include "operator/model/node_labels.h"
#include "operator/model/owned_object.h"
#include "operator/render/merge.h"
#include "operator/render/pod_defaults.h"

namespace sailor {
namespace {

using kube::Json;

constexpr int kUnreachableSeconds = 30;  // Kubernetes evicts the pod after its node was not ready for this long

Json metadata(const JobView& job, const Slot& slot, std::int64_t generation) {
  Json annotations = {{kPoolAnnotation, to_string(slot.pool)},
                      {kCreatedForAnnotation, std::to_string(generation)},
                      {"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"},
                      {"karpenter.sh/do-not-disrupt", "true"}};
  if (!slot.node.empty()) annotations[kNodeAnnotation] = slot.node;
  Json metadata = metadata_of_owned(slot.pod, job.key, job.uid);
  metadata["labels"].update({{"app.kubernetes.io/name", "sailor-trainer"},
                             {"app.kubernetes.io/instance", short_job_name(job.key.name)},
                             {"app.kubernetes.io/component", "trainer"},
                             {"app.kubernetes.io/part-of", "sailor"},
                             {kJobUidLabel, job.uid},
                             {kPoolLabel, short_hash(to_string(slot.pool))}});
  metadata["annotations"] = std::move(annotations);
  return metadata;
}

Json field_env(const char* name, const char* path) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}

Json trainer_container(const Slot& slot, const OperatorSettings& settings) {
  const std::string gpus = std::to_string(slot.gpus);
  Json container = {
      {"name", kTrainerContainer},
      {"image", settings.trainer_image},
      {"args",
       {"agent", "--name=$(POD_NAME)", "--pod-uid=$(POD_UID)", "--host=$(POD_IP)", "--gpus=" + gpus,
        fmt::format("--port={}", kAgentPort), fmt::format("--store-port={}", kStorePort),
        fmt::format("--peer-timeout={}", settings.peer_timeout.count()),
        fmt::format("--credentials={}", kCredentialsFolder)}},
      {"env",
       {field_env("POD_NAME", "metadata.name"), field_env("POD_UID", "metadata.uid"),
        field_env("POD_IP", "status.podIP")}},
      {"ports",
       {{{"name", "agent"}, {"containerPort", kAgentPort}}, {{"name", "store"}, {"containerPort", kStorePort}}}},
      {"resources", {{"requests", {{kGpuResource, gpus}}}, {"limits", {{kGpuResource, gpus}}}}},
      {"readinessProbe",
       {{"httpGet", {{"path", "/healthz"}, {"port", "agent"}, {"scheme", "HTTPS"}}}, {"periodSeconds", 5}}}};
  add_container_defaults(container, slot.gpus);
  return container;
}

// Adds a requirement to the affinity of the template: the terms of a node affinity are alternatives, so each of them
// gets the requirement. `kind` is matchFields or matchExpressions.
void require(Json& affinity, const char* kind, const Json& requirement) {
  Json& terms = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
  if (!terms.is_array() || terms.empty()) terms = Json::array({Json::object()});
  for (Json& term : terms) term[kind].push_back(requirement);
}

// Pins the pod to the node of its slot, or else to new nodes of its pool. The node is a required affinity, so the
// scheduler binds the pod and counts its GPUs. On an existing node the scheduler might evict a pod of lower priority
// for it, or use a node that the operator avoids.
void pin(Json& spec, const Slot& slot, const NewNode& new_node) {
  if (!slot.node.empty()) {
    require(spec["affinity"], "matchFields",
            {{"key", "metadata.name"}, {"operator", "In"}, {"values", Json::array({slot.node})}});
    return;
  }
  for (const auto& [label, value] : new_node.labels) spec["nodeSelector"][label] = value;
  // A nodeSelector cannot say that a label is absent.
  if (slot.pool.provisioning == Provisioning::kOnDemand && new_node.labels.contains(kGkeAcceleratorLabel))
    require(spec["affinity"], "matchExpressions", {{"key", kGkeSpotLabel}, {"operator", "DoesNotExist"}});
  if (!new_node.other_hosts.empty())
    require(spec["affinity"], "matchExpressions",
            {{"key", kHostnameLabel}, {"operator", "NotIn"}, {"values", new_node.other_hosts}});
}

Json tolerations() {
  const auto exists = [](const char* key, const char* effect) {
    return Json{{"key", key}, {"operator", "Exists"}, {"effect", effect}};
  };
  Json list = {exists(kGpuResource, "NoSchedule"), exists(kGkeSpotLabel, "NoSchedule"),
               exists(kAksPriorityLabel, "NoSchedule")};
  for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    list.push_back(exists(key, "NoExecute"));
    list.back()["tolerationSeconds"] = kUnreachableSeconds;
  }
  return list;
}

}  // namespace

Json render_pod(const JobView& job, const Slot& slot, std::int64_t generation, const OperatorSettings& settings,
                const NewNode& new_node) {
  Json pod = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", metadata(job, slot, generation)},
              {"spec",
               {{"restartPolicy", "Never"},
                {"automountServiceAccountToken", false},
                {"enableServiceLinks", false},
                {"terminationGracePeriodSeconds", kTerminationGrace.count()},
                {"tolerations", tolerations()},
                {"containers", Json::array({trainer_container(slot, settings)})}}}};
  add_pod_defaults(pod["spec"], credentials_name(job.key.name, job.uid));
  // The operator decides the pod's identity and placement, so it ignores these fields of the template.
  const Json own = pod["metadata"];
  if (job.pod_template.is_object()) merge_over(pod, job.pod_template);
  if (!job.priority_class.empty()) pod["spec"]["priorityClassName"] = job.priority_class;
  reconcile_defaults(pod["spec"], job.pod_template);
  Json& merged = pod["metadata"];
  for (const char* field : {"name", "namespace", "ownerReferences"}) merged[field] = own[field];
  merged["labels"].update(own["labels"]);
  merged["annotations"].update(own["annotations"]);
  pin(pod["spec"], slot, new_node);
  return pod;
}

Json scheduling_spec(const Json& pod_template) {
  Json spec = {{"tolerations", tolerations()}};
  for (const char* field : {"tolerations", "nodeSelector", "affinity"}) {
    if (const Json* stated = kube::find_at(pod_template, {"spec", field})) merge_over(spec, {{field, *stated}});
  }
  return spec;
}

Demand demand_of(const JobSpec& spec, const Json& pod_template) {
  return {spec.resources, spec.elasticity, SchedulingRules(scheduling_spec(pod_template))};
}

}  // namespace sailor
