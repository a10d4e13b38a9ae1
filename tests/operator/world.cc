#include "tests/operator/world.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/manifest/manifest.h"
#include "operator/model/names.h"
#include "operator/reconcile/decide/decide.h"

namespace sailor::testing {
namespace {

constexpr const char* kJobs = "/apis/sailor.dev/v1alpha1/namespaces/default/trainingjobs";
constexpr const char* kNodes = "/api/v1/nodes";
const JobKey kJob{"default", "job"};

// One stage, a replica on every GPU: the more GPUs, the faster.
Result<PlannedJob> search(const PlanQuestion& question, Nanoseconds forward_pass) {
  const auto& zones = question.job.resources.zones;
  std::vector<Pool> pools = question.cluster.pools;
  std::erase_if(pools,
                [&](const Pool& pool) { return !zones.empty() && std::ranges::count(zones, pool.key.zone) == 0; });
  int free = 0;
  for (const Pool& pool : pools) free += pool.free_gpus();
  if (free < question.job.resources.min_gpus)
    return fail(ErrorCode::kInfeasible, fmt::format("{} GPUs are too few", free));
  PlannedJob planned;
  planned.plan = {
      question.job.model.name, question.job.training.global_batch_size, 1, {{0, question.job.model.layer_count(), {}}}};
  for (const Pool& pool : pools) {
    for (int i = 0; i < pool.free_gpus(); ++i) planned.plan.stages[0].replicas.push_back({pool.key, 1, 1});
  }
  planned.plan.stages[0].replicas[0].microbatches = question.job.training.global_batch_size - free + 1;
  planned.schedule_times.replicas = {{static_cast<std::size_t>(free), ReplicaTimes{forward_pass, 2 * forward_pass}}};
  planned.estimate.iteration = Seconds(1.0 / free);
  planned.estimate.cost_per_hour = DollarsPerHour(free);
  planned.bound_throughput = free;
  return planned;
}

Json job_manifest(const Json& changes) {
  Json job = {{"apiVersion", "sailor.dev/v1alpha1"},
              {"kind", "TrainingJob"},
              {"metadata", {{"name", kJob.name}, {"namespace", kJob.namespace_name}, {"generation", 1}}},
              {"spec",
               {{"model", {{"name", "tiny-gpt2"}}},
                {"training", {{"globalBatchSize", 16}, {"sequenceLength", 32}, {"steps", 100}}},
                {"data", {{"format", "Bytes"}, {"path", "/data/*"}}}}}};
  job["spec"].update(changes);
  return job;
}

}  // namespace

struct World::Operator {
  explicit Operator(World& given)
      : world(given),
        api(world.api_server, quick()),
        observer(caches, world.settings, sources()),
        applier(api, caches, sinks(), "test") {}

  static kube::ApiHooks quick() {
    kube::ApiHooks hooks;
    hooks.sleep = [](std::chrono::milliseconds) {};
    return hooks;
  }
  ObserverSources sources() {
    ObserverSources sources;
    sources.read_job = job_from_manifest;
    sources.profiles = [] { return nullptr; };
    sources.agents = [this](const JobKey&) { return world.agents; };
    sources.answers = [this](const JobKey&) { return answers; };
    sources.clock = [this] { return world.now; };
    return sources;
  }
  ApplierSinks sinks() {
    return {[this](const JobKey&, const SendAssignment& send) {
              world.mail_[send.pod_uid] = send.assignment;
              world.sent.push_back(*send.assignment);
            },
            [this](const PlanQuestion& question) {
              answers.push_back({question, search(question, world.forward_pass), world.now});
            },
            [this](const JobKey&, const UpdateCallback& tell) {
              world.agents[tell.pod_uid].report->callback = world.settings.callback;
            }};
  }

  World& world;
  kube::Api api;
  Caches caches;
  std::vector<PlanAnswer> answers;
  Observer observer;
  Applier applier;
};

World::World() { restart_operator(); }

void World::restart_operator() { operator_ = std::make_shared<Operator>(*this); }

void World::add_node(const std::string& name, int gpus, const std::string& zone) {
  const Json ready = {{"type", "Ready"}, {"status", "True"}, {"lastHeartbeatTime", to_rfc3339(now)}};
  api_server.put(
      kNodes,
      {{"metadata",
        {{"name", name},
         {"labels", {{kAcceleratorLabel, "nvidia-tesla-t4"}, {kZoneLabel, zone}, {kSpotLabel, "true"}}}}},
       {"spec", Json::object()},
       {"status", {{"allocatable", {{kGpuResource, std::to_string(gpus)}}}, {"conditions", Json::array({ready})}}}});
}

void World::remove_node(const std::string& name) {
  api_server.erase(kNodes, name);
  for (const Json& pod : api_server.all("pods")) {
    if (kube::text_at(pod, {"spec", "nodeName"}) == name) agents[kube::uid_of(pod)].unanswered_polls += 5;
  }
}

void World::cut_off(const std::string& name) {
  Json node = api_server.find("nodes", name);
  node["status"]["conditions"][0]["status"] = "Unknown";
  api_server.put(kNodes, node);
  agents[kube::uid_of(api_server.find("pods", pod_on(name)))].unanswered_polls += 5;
}

void World::preempt(const std::string& name) {
  Json node = api_server.find("nodes", name);
  node["spec"]["taints"] = Json::array({{{"key", kTerminationTaint}, {"effect", "NoSchedule"}}});
  api_server.put(kNodes, node);
}

void World::add_job(Json spec_changes) { api_server.put(kJobs, job_manifest(spec_changes)); }

void World::change_job(const std::function<void(Json&)>& change) {
  Json job = api_server.find("trainingjobs", kJob.name);
  change(job);
  job["metadata"]["generation"] = kube::integer_at(job, {"metadata", "generation"}) + 1;
  api_server.put(kJobs, job);
}

void World::refresh_caches() {
  Caches& caches = operator_->caches;
  caches.jobs.replace(api_server.all("trainingjobs"));
  caches.pods.replace(api_server.all("pods"));
  caches.foreign_pods.replace({});
  caches.nodes.replace(api_server.all("nodes"));
  caches.pools.replace(api_server.all("gpupools"));
  caches.profiles.replace({});
  caches.records.replace(api_server.all("configmaps"));
}

void World::reconcile() {
  refresh_caches();
  const auto observation = operator_->observer.observe(kJob);
  if (!observation) return;
  const Decision decision = decide(*observation);
  requeue_after = decision.requeue_after;
  [[maybe_unused]] const auto applied = operator_->applier.apply(*observation, decision);
}

void World::settle() {
  for (int i = 0; i < 12; ++i) {
    reconcile();
    live();
  }
}

void World::settle_through_crash(int write, bool after_commit) {
  api_server.crash_at_write = write;
  api_server.crash_after_commit = after_commit;
  for (int i = 0; i < 20; ++i) {
    try {
      reconcile();
    } catch (const Crash&) {
      restart_operator();
    }
    live();
  }
  api_server.crash_at_write = -1;
}

Json World::status() const { return api_server.find("trainingjobs", kJob.name).value("status", Json::object()); }

std::string World::condition(const std::string& type) const {
  const Json current = status();
  for (const Json& condition : kube::list_at(current, {"conditions"})) {
    if (kube::text_at(condition, {"type"}) != type) continue;
    return fmt::format("{} {}: {}", kube::text_at(condition, {"status"}), kube::text_at(condition, {"reason"}),
                       kube::text_at(condition, {"message"}));
  }
  return "absent";
}

std::vector<std::string> World::pods() const {
  std::vector<std::string> names;
  for (const Json& pod : api_server.all("pods")) names.push_back(kube::name_of(pod));
  return names;
}

std::string World::pod_on(const std::string& node) const {
  for (const Json& pod : api_server.all("pods")) {
    if (kube::annotation_of(pod, kNodeAnnotation) == node) return kube::name_of(pod);
  }
  return {};
}

AgentView& World::agent_on(const std::string& node) {
  return agents.at(kube::uid_of(api_server.find("pods", pod_on(node))));
}

std::vector<std::string> World::nodes_in_use() const {
  std::vector<std::string> names;
  for (const Json& pod : api_server.all("pods")) names.push_back(kube::annotation_of(pod, kNodeAnnotation));
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> World::events() const {
  std::vector<std::string> reasons;
  for (const Json& event : api_server.all("events")) reasons.push_back(kube::text_at(event, {"reason"}));
  return reasons;
}

}  // namespace sailor::testing
