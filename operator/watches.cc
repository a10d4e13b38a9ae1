#include "operator/watches.h"

#include <fmt/format.h>

#include "core/log/log.h"
#include "operator/model/names.h"

namespace sailor {
namespace {

using kube::Json;

constexpr auto kSettle = std::chrono::milliseconds(50);  // nodes change in bursts, so the jobs wait for this long

// Returns the job that controls a pod or a ConfigMap, if a job does.
std::optional<JobKey> owner_of(const Json& object) {
  for (const Json& owner : kube::list_at(object, {"metadata", "ownerReferences"})) {
    const bool is_job =
        kube::text_at(owner, {"kind"}) == kube::kTrainingJobs.kind && kube::bool_at(owner, {"controller"});
    if (is_job) return JobKey{kube::namespace_of(object), kube::text_at(owner, {"name"})};
  }
  return std::nullopt;
}

}  // namespace

Watches::Watches(kube::Api& api, Caches& caches, WorkQueue& queue, std::function<void()> profiles_changed)
    : api_(api), caches_(caches), queue_(queue) {
  queue_changed_jobs(std::move(profiles_changed));
}

void Watches::queue_all_jobs() {
  for (const kube::Object& job : caches_.jobs.all()) queue_.add_after(kube::key_of(*job), kSettle);
}

void Watches::queue_changed_jobs(std::function<void()> profiles_changed) {
  const auto queue_owner = [this](const Json& object) {
    if (const auto job = owner_of(object)) queue_.add(*job);
  };
  caches_.jobs.on_change([this](const Json& job) { queue_.add(kube::key_of(job)); });
  caches_.pods.on_change(queue_owner);
  caches_.records.on_change(queue_owner);
  caches_.foreign_pods.on_change([this](const Json&) { queue_all_jobs(); });
  caches_.nodes.on_change([this](const Json&) { queue_all_jobs(); });
  caches_.pools.on_change([this](const Json&) { queue_all_jobs(); });
  caches_.profiles.on_change([this, notify = std::move(profiles_changed)](const Json&) {
    notify();
    queue_all_jobs();
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

void Watches::start(const std::string& namespace_name) {
  const std::string ours = kJobNameLabel;
  watch(kube::kTrainingJobs, {namespace_name, "", ""}, caches_.jobs);
  watch(kube::kPods, {namespace_name, ours, ""}, caches_.pods);
  watch(kube::kPods, {namespace_name, "!" + ours, "status.phase!=Succeeded,status.phase!=Failed"},
        caches_.foreign_pods);
  watch(kube::kNodes, {"", "", ""}, caches_.nodes);
  watch(kube::kGpuPools, {"", "", ""}, caches_.pools);
  watch(kube::kModelProfiles, {"", "", ""}, caches_.profiles);
  watch(kube::kConfigMaps, {namespace_name, fmt::format("{}={}", kManagedByLabel, kOperatorName), ""}, caches_.records);
}

void Watches::stop() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

}  // namespace sailor
