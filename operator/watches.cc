#include "operator/watches.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/log/log.h"
#include "core/manifest/manifest.h"
#include "operator/model/changes.h"
#include "operator/model/cluster_view.h"
#include "operator/model/names.h"
#include "operator/model/node_labels.h"
#include "operator/model/scale_up.h"
#include "operator/reconcile/observe/pod_view.h"

namespace sailor {
namespace {

using kube::Json;

constexpr auto kSettle = std::chrono::milliseconds(50);  // nodes change in bursts, so the jobs wait for this long

}  // namespace

Watches::Watches(kube::Api& api, Caches& caches, const JobIndex& jobs, WorkQueue& queue,
                 std::function<void()> profiles_changed)
    : api_(api), caches_(caches), jobs_(jobs), queue_(queue) {
  queue_jobs_of_changed_objects();
  queue_jobs_of_changed_cluster(std::move(profiles_changed));
}

void Watches::queue_routinely(const std::vector<JobKey>& jobs) {
  for (const JobKey& job : jobs) queue_.add_after(job, kSettle, Lane::kRoutine);
}

void Watches::queue_all_jobs() {
  for (const kube::Object& job : caches_.jobs.all()) queue_.add_after(kube::key_of(*job), kSettle, Lane::kRoutine);
}

void Watches::queue_jobs_concerned_by(const Json* before, const Json* now) {
  const ConcernedJobs concerned = concerned_jobs(before, now);
  if (concerned == ConcernedJobs::kAll) queue_routinely(jobs_.those_that_compete_with(*before));
  if (concerned == ConcernedJobs::kWaiting) queue_routinely(jobs_.those_that_wait_beside(*before));
}

void Watches::queue_jobs_that_may_use(const Json& node) {
  if (names_accelerator(node)) queue_routinely(jobs_.those_that_may_use(pool_of_node(node)));
}

// A loss gives nobody GPUs. But a job without a plan may have waited for the node, and if no plan is possible any more,
// it keeps others from growing no longer.
void Watches::queue_jobs_that_lose(const Json& node) {
  queue_jobs_of(kube::name_of(node));
  if (names_accelerator(node)) queue_routinely(jobs_.those_that_look_for(pool_of_node(node)));
}

// A pool that can grow may have another node for one that has left it.
void Watches::queue_jobs_concerned_by_node(const Json* before, const Json* now) {
  if (now != nullptr && takes_pods(*now)) {
    queue_jobs_of(kube::name_of(*now));
    queue_jobs_that_may_use(*now);
  } else {
    queue_jobs_that_lose(now == nullptr ? *before : *now);
  }
  if (before == nullptr || !names_accelerator(*before)) return;
  const PoolKey pool = pool_of_node(*before);
  const bool stays = now != nullptr && names_accelerator(*now) && pool_of_node(*now) == pool;
  if (stays) return;
  queue_jobs_that_lose(*before);
  if (can_grow(pool)) queue_jobs_that_may_use(*before);
}

bool Watches::can_grow(const PoolKey& pool) const {
  return std::ranges::any_of(caches_.pools.all(), [&](const kube::Object& object) {
    const auto declared = pool_from_manifest(*object);
    return declared && declared->key == pool && declared->max_nodes;
  });
}

// A pod without a node was to get a new one of some pool. Nobody gets the GPUs of a node that takes no pods.
void Watches::queue_jobs_concerned_by_freed_gpus(const Json& pod) {
  const std::string name = node_of_pod(pod);
  if (name.empty()) {
    queue_jobs_that_may_grow();
    return;
  }
  const kube::Object node = caches_.nodes.find({"", name});
  if (node == nullptr) return;
  queue_jobs_of(name);  // one of them may wait for these GPUs
  if (takes_pods(*node)) queue_jobs_that_may_use(*node);
}

// The pods of a job may be gone although its record still names the node, and those of a new plan may not exist yet.
void Watches::queue_jobs_of(const std::string& node) {
  for (const kube::Object& pod : caches_.pods.tagged(node_tag(node))) {
    if (const auto job = owner_of(*pod)) queue_.add(*job);
  }
  for (const kube::Object& record : caches_.records.tagged(node_tag(node))) queue_.add(kube::key_of(*record));
}

void Watches::queue_owners(const Json* before, const Json* now) {
  for (const Json* object : {before, now}) {
    if (object == nullptr) continue;
    if (const auto job = owner_of(*object)) {
      queue_.add(*job);
    } else if (const std::string name = kube::label_of(*object, kJobNameLabel); !name.empty()) {
      queue_.add({kube::namespace_of(*object), name});  // it may be an orphan
    }
  }
}

void Watches::queue_jobs_of_changed_objects() {
  caches_.jobs.on_change([this](const Json* before, const Json* now) {
    if (!changes_job(before, now)) return;
    queue_.add(kube::key_of(now == nullptr ? *before : *now));
    queue_jobs_concerned_by(before, now);
  });
  caches_.pods.on_change([this](const Json* before, const Json* now) {
    queue_owners(before, now);
    if (frees_gpus(before, now)) queue_jobs_concerned_by_freed_gpus(*before);
  });
  // A JobRecord has the name of its job, also one that no job owns.
  caches_.records.on_change(
      [this](const Json* before, const Json* now) { queue_.add(kube::key_of(now == nullptr ? *before : *now)); });
  for (kube::Store* store : {&caches_.scale_ups, &caches_.karpenter_words, &caches_.start_failures}) {
    store->on_change([this](const Json*, const Json* now) {
      if (now == nullptr) return;  // Events are deleted after an hour
      const Json& pod = *kube::find_at(*now, {"involvedObject"});
      const kube::Object known = caches_.pods.find({kube::text_at(pod, {"namespace"}), kube::text_at(pod, {"name"})});
      if (known != nullptr) queue_owners(nullptr, known.get());
    });
  }
  for (kube::Store* store : {&caches_.plan_maps, &caches_.workloads})
    store->on_change([this](const Json* before, const Json* now) { queue_owners(before, now); });
}

void Watches::queue_jobs_of_changed_cluster(std::function<void()> profiles_changed) {
  caches_.foreign_pods.on_change([this](const Json* before, const Json* now) {
    if (!changes_gpu_use(before, now)) return;
    if (frees_gpus(before, now) && !node_of_pod(*before).empty()) queue_jobs_concerned_by_freed_gpus(*before);
    const kube::Object node = now == nullptr ? nullptr : caches_.nodes.find({"", node_of_pod(*now)});
    if (node != nullptr) queue_jobs_that_lose(*node);
  });
  caches_.nodes.on_change([this](const Json* before, const Json* now) {
    if (changes_capacity_of_node(before, now)) queue_jobs_concerned_by_node(before, now);
  });
  caches_.pools.on_change([this](const Json* before, const Json* now) {
    if (changes_pool(before, now)) queue_jobs_that_may_grow();
  });
  for (kube::Store* store : {&caches_.priority_classes, &caches_.flavors, &caches_.queue_priorities})
    store->on_change([this](const Json*, const Json*) { queue_jobs_that_may_grow(); });
  caches_.profiles.on_change([this, notify = std::move(profiles_changed)](const Json*, const Json*) {
    notify();
    queue_jobs_that_may_grow();
  });
}

void Watches::watch(const kube::Resource& resource, kube::Selection selection, kube::Store& store) {
  kube::ReflectorHooks hooks;
  hooks.failed = [name = resource.plural](const kube::ApiError& error) {
    log_event(error.is_expired() ? LogLevel::kDebug : LogLevel::kWarning, "watch failed",
              {{"resource", name}, {"reason", error.message}});
  };
  kube::Reflector& reflector = reflectors_.emplace_back(api_, resource, std::move(selection), store, std::move(hooks));
  threads_.emplace_back([&reflector](std::stop_token stop) { reflector.run(std::move(stop)); });
}

void Watches::start(const std::vector<std::string>& namespaces, const std::string& kueue_version) {
  const std::string ours = kJobNameLabel;
  for (const std::string& name : namespaces.empty() ? std::vector<std::string>{""} : namespaces) {
    watch(kube::kTrainingJobs, {name, "", ""}, caches_.jobs);
    watch(kube::kPods, {name, ours, ""}, caches_.pods);
    watch(kube::kJobRecords, {name, "", ""}, caches_.records);
    watch(kube::kCoreEvents, {name, "", fmt::format("source={}", kClusterAutoscaler)}, caches_.scale_ups);
    watch(kube::kCoreEvents, {name, "", fmt::format("source={}", kKarpenter)}, caches_.karpenter_words);
    watch(kube::kCoreEvents, {name, "", kStartFailures}, caches_.start_failures);
    watch(kube::kConfigMaps, {name, fmt::format("{}={}", kManagedByLabel, kOperatorName), ""}, caches_.plan_maps);
  }
  // Nodes belong to all namespaces, so GPUs that pods elsewhere use must be seen, also those of other Sailor releases.
  const std::string foreign = namespaces.empty() ? "!" + ours : "";
  watch(kube::kPods, {"", foreign, "status.phase!=Succeeded,status.phase!=Failed"}, caches_.foreign_pods);
  watch(kube::kNodes, {"", "", ""}, caches_.nodes);
  watch(kube::kGpuPools, {"", "", ""}, caches_.pools);
  watch(kube::kPriorityClasses, {"", "", ""}, caches_.priority_classes);
  watch(kube::kModelProfiles, {"", "", ""}, caches_.profiles);
  if (!kueue_version.empty()) watch_queues(namespaces, kueue_version);
}

void Watches::watch_queues(const std::vector<std::string>& namespaces, const std::string& version) {
  const std::string ours = fmt::format("{}={}", kManagedByLabel, kOperatorName);
  for (const std::string& name : namespaces.empty() ? std::vector<std::string>{""} : namespaces)
    watch(kube::workloads(version), {name, ours, ""}, caches_.workloads);
  watch(kube::resource_flavors(version), {"", "", ""}, caches_.flavors);
  watch(kube::workload_priority_classes(version), {"", "", ""}, caches_.queue_priorities);
}

void Watches::stop() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

}  // namespace sailor
