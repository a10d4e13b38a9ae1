#include "operator/model/workload.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/model/cut_text.h"
#include "core/model/parse_number.h"
#include "operator/kube/resource.h"
#include "operator/model/names.h"
#include "operator/model/owned_object.h"

namespace sailor {
namespace {

using kube::Json;

constexpr const char* kPodSet = "gpus";
constexpr const char* kReclaimablePods = "reclaimablePods";
constexpr const char* kUselessAnnotation = "sailor.dev/no-plan-for-generation";
constexpr std::size_t kLongestOfKueue = 1024;  // of a condition

bool is_true(const Json& object, std::string_view type) {
  const Json* condition = kube::find_condition(object, type);
  return condition != nullptr && kube::text_at(*condition, {"status"}) == "True";
}

std::string text_of(const Json& object, std::string_view type, std::string_view field) {
  const Json* condition = kube::find_condition(object, type);
  return condition == nullptr ? "" : kube::text_at(*condition, {field});
}

struct KueueCondition {
  const char* type;
  bool is_true = false;
  std::string reason;
  std::string message;
};

// Like Kubernetes, changes lastTransitionTime only if the truth value changes.
void set_condition(Json& object, const KueueCondition& wanted, Time now) {
  Json& conditions = object["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  auto held = std::ranges::find_if(
      conditions, [&](const Json& condition) { return kube::text_at(condition, {"type"}) == wanted.type; });
  if (held == conditions.end()) {
    conditions.push_back({{"type", wanted.type}});
    held = std::prev(conditions.end());
  }
  Json& condition = *held;
  const char* status = wanted.is_true ? "True" : "False";
  if (kube::text_at(condition, {"status"}) != status) condition["lastTransitionTime"] = to_rfc3339(now);
  condition["status"] = status;
  condition["reason"] = wanted.reason;
  condition["message"] = cut_text(wanted.message, kLongestOfKueue);
  condition["observedGeneration"] = kube::integer_at(object, {"metadata", "generation"});
}

int count_of(const Json& pod_set) { return static_cast<int>(kube::integer_at(pod_set, {"count"})); }

const Json& first_of(const Json& list) {
  static const Json none = Json::object();
  return list.empty() ? none : list.front();
}

// Adds to the seconds for which the Workload has been admitted, which Kueue limits if it is told to. The two versions
// of the API spell the name of the field differently.
void add_time_admitted(Json& object, Time now) {
  const auto since = parse_rfc3339(text_of(object, "Admitted", "lastTransitionTime"));
  if (!since || !is_true(object, "Admitted")) return;
  const bool is_old = kube::text_at(object, {"apiVersion"}).ends_with("/v1beta1");
  const char* field = is_old ? "accumulatedPastExexcutionTimeSeconds" : "accumulatedPastExecutionTimeSeconds";
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - *since).count();
  object["status"][field] = kube::integer_at(object, {"status", field}) + std::max<std::int64_t>(0, seconds);
}

Json pod_set_of(const WorkloadRequest& request) {
  Json spec = {{"restartPolicy", "Never"},
               {"containers", Json::array({{{"name", "gpu"}, {"resources", {{"requests", {{kGpuResource, "1"}}}}}}})}};
  spec.update(request.scheduling);
  return {{"name", kPodSet},
          {"count", request.gpus},
          {"minCount", request.least_gpus},
          {"template", {{"spec", std::move(spec)}}}};
}

void end_reservation(Json& object, const std::string& reason, const std::string& message, Time now) {
  object["status"].erase("admission");
  set_condition(object, {"QuotaReserved", false, reason, message}, now);
}

}  // namespace

int Workload::reserved_gpus() const {
  return has_reservation && !is_finished ? std::min(admitted_gpus, asked_gpus - returned_gpus) : 0;
}

int Workload::gpus() const { return is_admitted && !is_evicted && !is_deleting ? reserved_gpus() : 0; }

Workload workload_of(kube::Object object) {
  const Json& json = *object;
  Workload workload;
  workload.name = kube::name_of(json);
  workload.queue = kube::text_at(json, {"spec", "queueName"});
  const Json& pod_set = first_of(kube::list_at(json, {"spec", "podSets"}));
  workload.asked_gpus = count_of(pod_set);
  workload.least_gpus =
      pod_set.contains("minCount") ? static_cast<int>(kube::integer_at(pod_set, {"minCount"})) : workload.asked_gpus;
  const Json& assignment = first_of(kube::list_at(json, {"status", "admission", "podSetAssignments"}));
  workload.admitted_gpus = assignment.contains("count") ? count_of(assignment) : workload.asked_gpus;
  workload.flavor = kube::text_at(assignment, {"flavors", kGpuResource});
  workload.returned_gpus = count_of(first_of(kube::list_at(json, {"status", kReclaimablePods})));
  const Json* active = kube::find_at(json, {"spec", "active"});
  workload.is_active = active == nullptr || kube::bool_at(json, {"spec", "active"});
  workload.has_reservation = is_true(json, "QuotaReserved");
  workload.is_admitted = workload.has_reservation && is_true(json, "Admitted");
  if (workload.is_admitted) workload.admitted_at = parse_rfc3339(text_of(json, "Admitted", "lastTransitionTime"));
  workload.is_evicted = is_true(json, "Evicted");
  workload.is_finished = is_true(json, "Finished");
  workload.is_deleting = kube::is_deleting(json);
  if (workload.is_evicted) workload.eviction = text_of(json, "Evicted", "message");
  if (!workload.has_reservation) workload.waiting = text_of(json, "QuotaReserved", "message");
  workload.object = std::move(object);
  return workload;
}

int number_of(const Workload& workload, const JobKey& job, const std::string& job_uid) {
  const std::string name = workload_name(job.name, job_uid, 0);
  const std::string prefix = name.substr(0, name.size() - 1);
  if (!workload.name.starts_with(prefix)) return 0;
  return parse_number<int>(workload.name.substr(prefix.size())).value_or(0);
}

Json new_workload(const WorkloadRequest& request, const std::string& version, const JobKey& job,
                  const std::string& job_uid, int number) {
  Json metadata = metadata_of_owned(workload_name(job.name, job_uid, number), job, job_uid);
  metadata["labels"][kKueueJobLabel] = job_uid;
  return {{"apiVersion", kube::workloads(version).group_version},
          {"kind", kube::workloads(version).kind},
          {"metadata", std::move(metadata)},
          {"spec",
           {{"queueName", request.queue},
            {"priority", request.priority},
            {"podSets", Json::array({pod_set_of(request)})}}}};
}

Json with_request(const Workload& workload, const WorkloadRequest& request) {
  Json object = *workload.object;
  Json& spec = object["spec"];
  spec["queueName"] = request.queue;
  spec["priority"] = request.priority;
  Json& pod_set = spec["podSets"].at(0);
  pod_set["count"] = request.gpus;
  pod_set["minCount"] = request.least_gpus;
  Json& pod_spec = pod_set["template"]["spec"];
  for (const char* field : {"tolerations", "nodeSelector", "affinity"}) pod_spec.erase(field);
  pod_spec.update(request.scheduling);
  return object;
}

bool asks_for(const Workload& workload, const WorkloadRequest& request) {
  return with_request(workload, request) == *workload.object;
}

Json without_reservation(const Workload& workload, Time now) {
  Json object = *workload.object;
  const std::string reason = text_of(object, "Evicted", "reason");
  const std::string& message = workload.eviction;
  add_time_admitted(object, now);
  object["status"].erase(kReclaimablePods);
  end_reservation(object, "Pending", message, now);
  set_condition(object, {"Admitted", false, "NoReservation", "The workload has no reservation"}, now);
  // Kueue queues it at once after these reasons, and after others once it has set this condition itself.
  const bool is_queued_at_once = reason == "Preempted" || reason == "NodeFailures";
  set_condition(object, {"Requeued", is_queued_at_once, reason, message}, now);
  return with_pods_ready(workload_of(std::make_shared<const Json>(std::move(object))), false, now);
}

Json with_returned(const Workload& workload, int needed) {
  Json object = *workload.object;
  object["status"][kReclaimablePods] =
      Json::array({{{"name", kPodSet}, {"count", workload.asked_gpus - std::max(0, needed)}}});
  return object;
}

Json as_useless(const Workload& workload, std::int64_t spec_generation) {
  Json object = *workload.object;
  object["spec"]["active"] = false;
  object["metadata"]["annotations"][kUselessAnnotation] = std::to_string(spec_generation);
  return object;
}

std::optional<std::int64_t> useless_for_generation(const Workload& workload) {
  if (workload.is_active) return std::nullopt;
  return parse_number<std::int64_t>(kube::annotation_of(*workload.object, kUselessAnnotation));
}

Json with_pods_ready(const Workload& workload, bool are_ready, Time now) {
  Json object = *workload.object;
  const bool were_ready = is_true(object, "PodsReady");
  const std::string before = text_of(object, "PodsReady", "reason");
  const bool has_failed = (were_ready || before == "WaitForRecovery") && workload.is_admitted;
  if (are_ready) {
    set_condition(object, {"PodsReady", true, has_failed ? "Recovered" : "Started", "The job trains on these GPUs."},
                  now);
  } else {
    set_condition(
        object,
        {"PodsReady", false, has_failed ? "WaitForRecovery" : "WaitForStart", "The job does not train on these GPUs."},
        now);
  }
  return object;
}

bool says_pods_ready(const Workload& workload, bool are_ready) {
  const Json* condition = kube::find_condition(*workload.object, "PodsReady");
  return condition == nullptr ? !are_ready : is_true(*workload.object, "PodsReady") == are_ready;
}

Json as_finished(const Workload& workload, bool has_succeeded, const std::string& message, Time now) {
  Json object = *workload.object;
  const std::string ended = "Workload has finished";
  set_condition(object, {"Finished", true, has_succeeded ? "Succeeded" : "Failed", message}, now);
  end_reservation(object, "Finished", ended, now);
  set_condition(object, {"Admitted", false, "Finished", ended}, now);
  return object;
}

Flavor flavor_of(const Json& resource_flavor) {
  Flavor flavor;
  if (const Json* labels = kube::find_at(resource_flavor, {"spec", "nodeLabels"}); labels != nullptr) {
    for (const auto& [name, value] : labels->items()) {
      if (value.is_string()) flavor.labels.emplace(name, value.get<std::string>());
    }
  }
  flavor.tolerations = kube::list_at(resource_flavor, {"spec", "tolerations"});
  return flavor;
}

}  // namespace sailor
