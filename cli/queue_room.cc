#include "cli/queue_room.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "core/model/counted.h"
#include "operator/model/holders_text.h"
#include "operator/model/names.h"
#include "operator/model/rival.h"
#include "operator/render/pod.h"

namespace sailor::cli {
namespace {

using kube::Json;

// The quotas of several queues are added up.
int gpus_at(const Json& object, std::string_view field) {
  constexpr std::int64_t kMostGpusOfAQueue = 1'000'000;
  return static_cast<int>(std::min(kube::count_at(object, {field}), kMostGpusOfAQueue));
}

const Json* named(const Json& list, const std::string& name) {
  const auto found = std::ranges::find_if(list, [&](const Json& one) { return kube::text_at(one, {"name"}) == name; });
  return found == list.end() ? nullptr : &*found;
}

// The quota for GPUs of one flavor; null: the queue has none.
const Json* quota_for(const Json& cluster_queue, const std::string& flavor) {
  for (const Json& group : kube::list_at(cluster_queue, {"spec", "resourceGroups"})) {
    const Json* entry = named(kube::list_at(group, {"flavors"}), flavor);
    const Json* quota = entry == nullptr ? nullptr : named(kube::list_at(*entry, {"resources"}), kGpuResource);
    if (quota != nullptr) return quota;
  }
  return nullptr;
}

int used_of(const Json& cluster_queue, const std::string& flavor) {
  const Json* usage = named(kube::list_at(cluster_queue, {"status", "flavorsReservation"}), flavor);
  const Json* gpus = usage == nullptr ? nullptr : named(kube::list_at(*usage, {"resources"}), kGpuResource);
  return gpus == nullptr ? 0 : gpus_at(*gpus, "total");
}

// The two versions of the API spell the field differently.
std::string cohort_of(const Json& cluster_queue) {
  const std::string name = kube::text_at(cluster_queue, {"spec", "cohortName"});
  return name.empty() ? kube::text_at(cluster_queue, {"spec", "cohort"}) : name;
}

// What a queue keeps for itself, whatever its cohort would like to borrow.
int guaranteed(const Json& quota) {
  const int nominal = gpus_at(quota, "nominalQuota");
  return quota.contains("lendingLimit") ? std::max(0, nominal - gpus_at(quota, "lendingLimit")) : 0;
}

int left_in_cohort(const std::string& cohort, const std::string& flavor, const QueueObjects& objects) {
  int left = 0;
  for (const kube::Object& queue : objects.cluster_queues) {
    const Json* quota = cohort_of(*queue) == cohort ? quota_for(*queue, flavor) : nullptr;
    if (quota == nullptr) continue;
    left += gpus_at(*quota, "nominalQuota") - guaranteed(*quota);
    left -= std::max(0, used_of(*queue, flavor) - guaranteed(*quota));
  }
  return left;
}

FlavorRoom room_of(const Json& cluster_queue, const std::string& flavor, const Json& quota,
                   const QueueObjects& objects) {
  FlavorRoom room{flavor, gpus_at(quota, "nominalQuota"), used_of(cluster_queue, flavor)};
  room.left = room.quota - room.used;
  if (const std::string cohort = cohort_of(cluster_queue); !cohort.empty()) {
    room.left = std::max(0, guaranteed(quota) - room.used) + left_in_cohort(cohort, flavor, objects);
    if (quota.contains("borrowingLimit"))
      room.left = std::min(room.left, room.quota + gpus_at(quota, "borrowingLimit") - room.used);
  }
  room.left = std::max(0, room.left);
  return room;
}

// Returns whether the job may use a node, or a new node, with the labels of the flavor.
bool may_use(const Observation& observation, const Flavor& flavor) {
  Json spec = scheduling_spec(observation.job.pod_template);
  for (const Json& toleration : flavor.tolerations) spec["tolerations"].push_back(toleration);
  const JobSpec& job = observation.job.spec.value();
  const Demand demand{job.resources, job.elasticity, SchedulingRules(spec)};
  const ClusterView& cluster = *observation.cluster;
  return std::ranges::any_of(
             cluster.nodes,
             [&](const NodeView& node) { return node.has_labels(flavor.labels) && demand.may_use(node); }) ||
         std::ranges::any_of(cluster.pools, [&](const auto& pool) {
           const Labels labels = cluster.labels_of_new_node(pool.first);
           return has_all(labels, flavor.labels) && demand.may_use_growth(pool.first, labels);
         });
}

std::string owner_of(const Json& workload) {
  const JobKey key = kube::key_of(workload);
  for (const Json& owner : kube::list_at(workload, {"metadata", "ownerReferences"})) {
    if (kube::text_at(owner, {"kind"}) == "TrainingJob")
      return "job " + to_string(JobKey{key.namespace_name, kube::text_at(owner, {"name"})});
  }
  return "Workload " + to_string(key);
}

std::vector<QuotaHolder> holders_in(const std::string& cluster_queue, const QueueObjects& objects) {
  std::map<std::string, int> gpus_of;
  for (const kube::Object& object : objects.workloads) {
    const Workload workload = workload_of(object);
    if (workload.reserved_gpus() > 0 &&
        kube::text_at(*object, {"status", "admission", "clusterQueue"}) == cluster_queue)
      gpus_of[owner_of(*object)] += workload.reserved_gpus();
  }
  std::vector<QuotaHolder> holders;
  holders.reserve(gpus_of.size());
  for (const auto& [name, gpus] : gpus_of) holders.push_back({name, gpus});
  std::ranges::stable_sort(holders, std::greater(), &QuotaHolder::gpus);
  return holders;
}

std::string fault_of(const Json& queue, const std::string& kind) {
  const Json* active = kube::find_condition(queue, "Active");
  if (active == nullptr || kube::text_at(*active, {"status"}) != "False") return "";
  return fmt::format("{} {} is not active: {}", kind, kube::name_of(queue), kube::text_at(*active, {"message"}));
}

std::string rooms_text(const std::vector<FlavorRoom>& flavors) {
  std::string text;
  for (const FlavorRoom& room : flavors) {
    text += fmt::format("{}flavor {} has {} left ({} of {} are used)", text.empty() ? "" : ", ", room.flavor, room.left,
                        room.used, room.quota);
  }
  return text.empty() ? "it has no quota for GPUs that the job may use" : text;
}

std::string users_text(const std::vector<QuotaHolder>& holders) {
  const std::string text = holders_text(holders, [](const QuotaHolder& holder) { return holder.name; });
  return text.empty() ? text : "; in use are " + text;
}

}  // namespace

std::vector<FlavorRoom> rooms_of(const Json& cluster_queue, const QueueObjects& objects) {
  std::vector<FlavorRoom> rooms;
  for (const Json& group : kube::list_at(cluster_queue, {"spec", "resourceGroups"})) {
    for (const Json& entry : kube::list_at(group, {"flavors"})) {
      const Json* quota = named(kube::list_at(entry, {"resources"}), kGpuResource);
      if (quota != nullptr) rooms.push_back(room_of(cluster_queue, kube::text_at(entry, {"name"}), *quota, objects));
    }
  }
  return rooms;
}

QueueAnswer answer_of_queue(const Workload& asked, const Json& local_queue, const QueueObjects& objects,
                            const Observation& observation) {
  QueueAnswer answer{.queue = kube::name_of(local_queue),
                     .cluster_queue = kube::text_at(local_queue, {"spec", "clusterQueue"}),
                     .asked = asked.asked_gpus,
                     .least = asked.least_gpus};
  const auto found = std::ranges::find_if(
      objects.cluster_queues, [&](const kube::Object& queue) { return kube::name_of(*queue) == answer.cluster_queue; });
  if (found == objects.cluster_queues.end()) {
    answer.fault = fmt::format("ClusterQueue {} does not exist", answer.cluster_queue);
    return answer;
  }
  answer.fault = fault_of(local_queue, "LocalQueue");
  if (answer.fault.empty()) answer.fault = fault_of(**found, "ClusterQueue");
  answer.holders = holders_in(answer.cluster_queue, objects);
  for (FlavorRoom& room : rooms_of(**found, objects)) {
    const auto flavor = observation.queue.value().flavors.find(room.flavor);
    if (flavor != observation.queue.value().flavors.end() && may_use(observation, flavor->second))
      answer.flavors.push_back(std::move(room));
  }
  if (!answer.fault.empty()) return answer;
  for (const FlavorRoom& room : answer.flavors) {
    const int given = std::min(room.left, answer.asked);
    if (given < answer.least || given <= answer.given) continue;
    answer.given = given;
    answer.flavor = room.flavor;
  }
  return answer;
}

Json admitted(const Workload& asked, const QueueAnswer& answer, Time now) {
  Json object = *asked.object;
  object["status"]["admission"] = {
      {"clusterQueue", answer.cluster_queue},
      {"podSetAssignments",
       Json::array({{{"name", "gpus"}, {"count", answer.given}, {"flavors", {{kGpuResource, answer.flavor}}}}})}};
  for (const char* type : {"QuotaReserved", "Admitted"})
    object["status"]["conditions"].push_back(
        {{"type", type}, {"status", "True"}, {"lastTransitionTime", to_rfc3339(now)}});
  return object;
}

std::string sentence_about(const QueueAnswer& answer) {
  const std::string who = fmt::format("Queue {} (ClusterQueue {})", answer.queue, answer.cluster_queue);
  if (!answer.fault.empty()) return fmt::format("{} gives the job no GPUs: {}.", who, answer.fault);
  const std::string why = rooms_text(answer.flavors) + users_text(answer.holders);
  if (answer.given == 0)
    return fmt::format("{} gives the job no GPUs, and it needs at least {}: {}.", who, answer.least, why);
  if (answer.given < answer.asked) {
    return fmt::format("{} gives the job {} of the {} that it asks for: {}.", who, answer.given,
                       counted(answer.asked, "GPU"), why);
  }
  return fmt::format("{} gives the job all that it asks for: {}.", who, counted(answer.given, "GPU"));
}

}  // namespace sailor::cli
