// What the operator sees of the cluster: its caches, what fills them, and which jobs a change may concern.
#include "operator/log.h"
#include "operator/model/names.h"
#include "operator/runtime.h"

namespace sailor {
namespace {

using kube::Json;

constexpr auto kSettle = std::chrono::milliseconds(50);  // changes of nodes come in flocks

// The job that controls a pod or a ConfigMap of ours.
std::optional<JobKey> owner_of(const Json& object) {
  for (const Json& owner : kube::list_at(object, {"metadata", "ownerReferences"})) {
    const bool is_job =
        kube::text_at(owner, {"kind"}) == kube::kTrainingJobs.kind && kube::bool_at(owner, {"controller"});
    if (is_job) return JobKey{kube::space_of(object), kube::text_at(owner, {"name"})};
  }
  return std::nullopt;
}

}  // namespace

void Operator::Parts::add_all() {
  for (const kube::Object& job : caches.jobs.all()) queue.add_after(kube::key_of(*job), kSettle);
}

// Whatever changes, the jobs that it may concern are looked at.
void Operator::Parts::connect_caches() {
  const auto add_owner = [this](const Json& object) {
    if (const auto job = owner_of(object)) queue.add(*job);
  };
  caches.jobs.on_change([this](const Json& job) { queue.add(kube::key_of(job)); });
  caches.pods.on_change(add_owner);
  caches.records.on_change(add_owner);
  caches.foreign_pods.on_change([this](const Json&) { add_all(); });
  caches.nodes.on_change([this](const Json&) { add_all(); });
  caches.pools.on_change([this](const Json&) { add_all(); });
  caches.profiles.on_change([this](const Json&) {
    profiles.changed();
    add_all();
  });
}

void Operator::Parts::start_reflectors() {
  const std::string& space = options.watch_namespace;
  const std::string ours = kJobNameLabel;
  const auto add = [this](const kube::Resource& resource, kube::Selection selection, kube::Store& store) {
    kube::ReflectorHooks reflector_hooks;
    reflector_hooks.failed = [name = resource.plural](const kube::ApiError& error) {
      log_line(error.is_expired() ? spdlog::level::debug : spdlog::level::warn, "watch failed",
               {{"resource", name}, {"reason", error.message}});
    };
    kube::Reflector& reflector =
        reflectors.emplace_back(api, resource, std::move(selection), store, std::move(reflector_hooks));
    threads.emplace_back([&reflector](std::stop_token stop) { reflector.run(std::move(stop)); });
  };
  add(kube::kTrainingJobs, {space, "", ""}, caches.jobs);
  add(kube::kPods, {space, ours, ""}, caches.pods);
  add(kube::kPods, {space, "!" + ours, "status.phase!=Succeeded,status.phase!=Failed"}, caches.foreign_pods);
  add(kube::kNodes, {"", "", ""}, caches.nodes);
  add(kube::kGpuPools, {"", "", ""}, caches.pools);
  add(kube::kModelProfiles, {"", "", ""}, caches.profiles);
  add(kube::kConfigMaps, {space, std::string(kManagedByLabel) + "=" + kOperatorName, ""}, caches.records);
}

}  // namespace sailor
