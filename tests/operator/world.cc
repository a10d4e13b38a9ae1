#include "tests/operator/world.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/manifest/manifest.h"
#include "core/model/speed_grade.h"
#include "operator/model/gpu_claims.h"
#include "operator/model/names.h"
#include "operator/model/record_object.h"
#include "operator/reconcile/decide/decide.h"
#include "operator/reconcile/leftovers.h"
#include "operator/reconcile/pool_status_writer.h"

namespace sailor::testing {
namespace {

constexpr const char* kJobs = "/apis/sailor.dev/v1alpha1/namespaces/default/trainingjobs";
constexpr const char* kRecords = "/apis/sailor.dev/v1alpha1/namespaces/default/jobrecords";
constexpr const char* kPools = "/apis/sailor.dev/v1alpha1/gpupools";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kConfigMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kNodes = "/api/v1/nodes";
constexpr std::pair<const char*, const char*> kOwnedKinds[] = {
    {"pods", kPods},
    {"jobrecords", kRecords},
    {"configmaps", kConfigMaps},
    {"secrets", "/api/v1/namespaces/default/secrets"},
    {"networkpolicies", "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"}};

std::optional<DollarsPerHour> most_cost_per_hour(const JobSpec& job) {
  const auto* objective = std::get_if<MaximizeThroughput>(&job.objective);
  return objective != nullptr ? objective->max_cost_per_hour : std::nullopt;
}

DollarsPerHour price_of(const std::vector<PoolKey>& gpus, const ClusterState& cluster) {
  DollarsPerHour price;
  for (const PoolKey& gpu : gpus) {
    if (const Pool* pool = cluster.find(gpu)) price += pool->price_per_gpu;
  }
  return price;
}

std::optional<MissedLimit> limit_missed_by_current(const PlanQuestion& question) {
  if (!question.current) return std::nullopt;
  std::vector<PoolKey> gpus;
  for (const Replica& replica : question.current->stages[0].replicas) gpus.push_back(replica.pool);
  const Seconds iteration(1.0 / static_cast<double>(gpus.size()));
  return missed_limit(question.job.objective, iteration, price_of(gpus, question.cluster) * iteration);
}

// One stage, a replica on every GPU, or on as many as the job may use: the more and the faster GPUs, the faster.
Result<PlannedJob> search(const PlanQuestion& question, Nanoseconds forward_pass, Seconds pause) {
  const auto& zones = question.job.resources.zones;
  std::vector<Pool> pools = question.cluster.pools;
  std::erase_if(pools,
                [&](const Pool& pool) { return !zones.empty() && std::ranges::count(zones, pool.key.zone) == 0; });
  std::ranges::stable_sort(pools, {}, [](const Pool& pool) { return pool.key.grade; });
  std::vector<PoolKey> gpus;
  for (const Pool& pool : pools) gpus.insert(gpus.end(), static_cast<std::size_t>(pool.free_gpus()), pool.key);
  const int free = static_cast<int>(gpus.size());
  if (free < question.job.resources.min_gpus)
    return fail(ErrorCode::kInfeasible, fmt::format("{} GPUs are too few", free));
  gpus.resize(static_cast<std::size_t>(std::min(free, question.job.resources.max_gpus.value_or(free))));
  const auto limit = most_cost_per_hour(question.job);
  while (limit && price_of(gpus, question.cluster) > *limit) gpus.pop_back();
  const int used = static_cast<int>(gpus.size());
  if (used < question.job.resources.min_gpus) return fail(ErrorCode::kInfeasible, "no plan costs so little");
  double speed = 0;
  for (const PoolKey& gpu : gpus) speed += 1 / slowdown_of(gpu.grade);
  PlannedJob planned;
  planned.plan = {
      question.job.model.name, question.job.training.global_batch_size, 1, {{0, question.job.model.layer_count(), {}}}};
  for (const PoolKey& gpu : gpus) planned.plan.stages[0].replicas.push_back({gpu, 1, 1});
  planned.plan.stages[0].replicas[0].microbatches = question.job.training.global_batch_size - used + 1;
  planned.schedule_times.replicas = {{static_cast<std::size_t>(used), ReplicaTimes{forward_pass, 2 * forward_pass}}};
  planned.estimate.iteration = Seconds(1 / speed);
  planned.estimate.cost_per_hour = DollarsPerHour(used);
  planned.bound_throughput = used;
  planned.limit_missed_by_current = limit_missed_by_current(question);
  if (planned.plan != question.current) planned.pause = pause;
  planned.alternatives = {{planned.plan, planned.estimate}};
  for (int fewer = used - 1; fewer > 0; --fewer) {
    EstimatedPlan& other = planned.alternatives.emplace_back(planned.alternatives.front());
    other.plan.stages[0].replicas.resize(static_cast<std::size_t>(fewer), {gpus.front(), 1, 1});
    other.estimate.iteration = Seconds(1.0 / fewer);
  }
  return planned;
}

// The operator watches only the pods with this label.
std::vector<Json> labelled(std::vector<Json> pods) {
  std::erase_if(pods, [](const Json& pod) { return kube::label_of(pod, kJobNameLabel).empty(); });
  return pods;
}

Json job_manifest(const JobKey& key, Time created, const Json& changes) {
  Json job = {{"apiVersion", "sailor.dev/v1alpha1"},
              {"kind", "TrainingJob"},
              {"metadata",
               {{"name", key.name},
                {"namespace", key.namespace_name},
                {"generation", 1},
                {"creationTimestamp", to_rfc3339(created)}}},
              {"spec",
               {{"model", {{"name", "tiny-gpt2"}}},
                {"training", {{"globalBatchSize", 16}, {"sequenceLength", 32}, {"steps", 100}}},
                {"data", {{"format", "Bytes"}, {"path", "/data/*"}}}}}};
  job["spec"].update(changes);
  return job;
}

// As the operator's watch selects them.
std::vector<Json> with_label(std::vector<Json> objects, const char* label) {
  std::erase_if(objects, [&](const Json& object) { return kube::label_of(object, label).empty(); });
  return objects;
}

}  // namespace

struct World::Operator {
  explicit Operator(World& given)
      : world(given),
        api(world.api_server, quick()),
        observer(caches, world.settings, sources()),
        events(api, "test", [this] { return world.now; }),
        applier(api, caches, refusals, secured_jobs, sinks()),
        leftovers(api, caches),
        pool_statuses(api, caches, [this](const std::string& pool, const kube::ApiError& error) {
          world.pool_failures.push_back(pool + ": " + error.message);
        }) {}

  static kube::ApiHooks quick() {
    kube::ApiHooks hooks;
    hooks.sleep = [](std::chrono::milliseconds) {};
    return hooks;
  }
  ObserverSources sources() {
    ObserverSources sources;
    sources.read_job = job_from_manifest;
    sources.profiles = [] { return nullptr; };
    sources.agents = [this](const JobKey& key) { return world.polled_agents(key); };
    sources.answers = [this](const JobKey&) { return answers; };
    sources.refusal = [this](const JobKey& job) { return refusals.find(job); };
    sources.secured_at = [this](const JobKey& key, const std::string& uid) { return secured_jobs.find(key, uid); };
    sources.trust_change = [this] { return world.trust_change; };
    sources.clock = [this] { return world.now; };
    sources.monotonic = [this] { return world.monotonic; };
    return sources;
  }
  ApplierSinks sinks() {
    return {[this](const JobKey&, const SendAssignment& send) {
              world.mail_[send.pod_uid] = send.assignment;
              world.sent.push_back(*send.assignment);
            },
            [this](const PlanQuestion& question) {
              const bool is_infeasible = world.infeasible_jobs.contains(question.job.key.name);
              answers.push_back({question,
                                 is_infeasible ? fail(ErrorCode::kInfeasible, "the model does not fit")
                                               : search(question, world.forward_pass, world.pause),
                                 world.now});
              auto& planned = answers.back().result;
              if (world.marks_kept_plans && planned) planned->keeps_current = planned->plan == question.current;
            },
            [](const JobKey&) {},
            [this](const JobKey&, const UpdateCallback& tell) {
              world.agents[tell.pod_uid].report->callback = world.settings.callback;
            },
            [this](const JobReference& job, const JobEvent& event) {
              events.take(job, event);
              events.flush();
            },
            [](const JobKey&) {},
            [this](const JobKey&, const ClaimFolder& claim) {
              AgentReport& report = world.agents[claim.pod_uid].report.value();
              report.claim_error = world.claim_fault;
              if (world.claim_fault.empty()) report.superseded_claim = claim.claim.older_generation;
            },
            [this](const JobKey& key) {
              return net::TlsSettings{world.trusted_cas, "certificate of " + to_string(key), "key"};
            }};
  }

  World& world;
  kube::Api api;
  Caches caches;
  PodRefusals refusals;
  SecuredJobs secured_jobs;
  std::vector<PlanAnswer> answers;
  Observer observer;
  EventSender events;
  Applier applier;
  Leftovers leftovers;
  PoolStatusWriter pool_statuses;
};

World::World() { restart_operator(); }

void World::restart_operator() { operator_ = std::make_shared<Operator>(*this); }

void World::add_node(const std::string& name, int gpus, const std::string& zone) {
  const Json ready = {{"type", "Ready"}, {"status", "True"}, {"lastHeartbeatTime", to_rfc3339(now)}};
  api_server.put(
      kNodes,
      {{"metadata",
        {{"name", name},
         {"labels", {{kGkeAcceleratorLabel, "nvidia-tesla-t4"}, {kZoneLabel, zone}, {kGkeSpotLabel, "true"}}}}},
       {"spec", Json::object()},
       {"status", {{"allocatable", {{kGpuResource, std::to_string(gpus)}}}, {"conditions", Json::array({ready})}}}});
}

void World::add_pool(const std::string& name, const Json& spec_changes) {
  Json spec = {{"region", "us-central1"}, {"zone", "us-central1-a"}, {"accelerator", "nvidia-tesla-t4"},
               {"provisioning", "Spot"},  {"gpusPerNode", 2},        {"pricePerGpuHour", "0.125"}};
  spec.merge_patch(spec_changes);
  api_server.put(kPools, {{"apiVersion", "sailor.dev/v1alpha1"},
                          {"kind", "GpuPool"},
                          {"metadata", {{"name", name}, {"generation", 1}}},
                          {"spec", spec}});
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
  if (const std::string pod = pod_on(name); !pod.empty())
    agents[kube::uid_of(api_server.find("pods", pod))].unanswered_polls += 5;
}

void World::lose_label(const std::string& name) {
  Json node = api_server.find("nodes", name);
  node["metadata"]["labels"].erase(kGkeAcceleratorLabel);
  api_server.put(kNodes, node);
}

void World::force_delete(const std::string& node) {
  const Json pod = api_server.find("pods", pod_on(node));
  api_server.erase("/api/v1/namespaces/default/pods", kube::name_of(pod));
  force_deleted_.insert(kube::uid_of(pod));
}

bool World::is_frozen(const std::string& pod_uid) const {
  if (frozen_nodes.empty()) return false;
  return std::ranges::any_of(api_server.all("pods"), [&](const Json& pod) {
    return kube::uid_of(pod) == pod_uid && frozen_nodes.contains(node_of_pod(pod));
  });
}

// The operator polls the agents of all pods, and of the members of the record whose pods are gone. The latter do not
// answer, unless the pod was deleted by force.
std::map<std::string, AgentView> World::polled_agents(const JobKey& key) const {
  std::map<std::string, AgentView> polled = agents;
  std::set<std::string> existing = force_deleted_;
  for (const Json& pod : api_server.all("pods")) {
    if (kube::label_of(pod, kJobNameLabel) == short_job_name(key.name)) existing.insert(kube::uid_of(pod));
  }
  std::erase_if(polled, [&](const auto& agent) { return !existing.contains(agent.first); });
  for (auto& [uid, agent] : polled) {
    if (is_frozen(uid)) agent.unanswered_polls = kHighestPollCount;
    if (agent.answers()) agent.answered_at = monotonic;
  }
  const auto record = record_of(api_server.find("jobrecords", key.name));
  if (!record) return polled;
  std::vector<Member> members = record->members;
  for (const OlderRecord& older : record->older)
    members.insert(members.end(), older.members.begin(), older.members.end());
  for (const Member& member : members) {
    if (!existing.contains(member.pod_uid)) polled[member.pod_uid].unanswered_polls = 2;
  }
  return polled;
}

void World::preempt(const std::string& name) {
  Json node = api_server.find("nodes", name);
  node["spec"]["taints"] =
      Json::array({{{"key", "cloud.google.com/impending-node-termination"}, {"effect", "NoSchedule"}}});
  api_server.put(kNodes, node);
}

void World::add_job(Json spec_changes, const Json& labels) {
  Json object = job_manifest(job, now, spec_changes);
  object["metadata"]["labels"] = labels;
  api_server.put(kJobs, object);
}

void World::change_job(const std::function<void(Json&)>& change) {
  Json changed = api_server.find("trainingjobs", job.name);
  change(changed);
  changed["metadata"]["generation"] = kube::integer_at(changed, {"metadata", "generation"}) + 1;
  api_server.put(kJobs, changed);
}

// The server notes when it creates an object.
void World::stamp_new_pods() {
  for (Json pod : api_server.all("pods")) {
    if (kube::find_at(pod, {"metadata", "creationTimestamp"}) != nullptr) continue;
    pod["metadata"]["creationTimestamp"] = to_rfc3339(now);
    api_server.put(kPods, pod);
  }
}

void World::refresh_caches() {
  stamp_new_pods();
  Caches& caches = operator_->caches;
  caches.jobs.replace(api_server.all("trainingjobs"));
  caches.pods.replace(labelled(api_server.all("pods")));
  caches.foreign_pods.replace({});
  caches.nodes.replace(api_server.all("nodes"));
  caches.pools.replace(api_server.all("gpupools"));
  caches.priority_classes.replace(api_server.all("priorityclasses"));
  caches.profiles.replace({});
  caches.records.replace(api_server.all("jobrecords"));
  caches.scale_ups.replace(api_server.all("events"));
  caches.karpenter_words.replace({});  // the world's other cache takes the Events of all autoscalers
  caches.start_failures.replace(api_server.all("events"));
  caches.workloads.replace(api_server.all("workloads"));
  caches.flavors.replace(api_server.all("resourceflavors"));
  caches.queue_priorities.replace(api_server.all("workloadpriorityclasses"));
  refresh_plan_maps(caches.plan_maps);
}

// A watch for a label says nothing of other objects, so the cache keeps those that it was given.
void World::refresh_plan_maps(kube::Store& plan_maps) const {
  std::vector<Json> maps = with_label(api_server.all("configmaps"), kManagedByLabel);
  for (const kube::Object& held : plan_maps.all()) {
    if (kube::label_of(*held, kManagedByLabel).empty()) maps.push_back(*held);
  }
  plan_maps.replace(std::move(maps));
}

// The operator follows the changes of the cluster. What it sees must be what it would see if it read all objects.
void World::check_view(const ClusterView& seen) const {
  const Caches& caches = operator_->caches;
  ClusterObjects objects{.nodes = caches.nodes.all(),
                         .gpu_pools = caches.pools.all(),
                         .pods = caches.pods.all(),
                         .least_capability = settings.least_capability};
  for (const kube::Object& object : caches.jobs.all()) {
    const auto record = operator_->observer.record(kube::key_of(*object), kube::uid_of(*object));
    if (record && may_use_gpus(*object)) add_record(*record, objects);
  }
  ClusterView all = cluster_view(objects);
  all.nodes.change_all([&](NodeView& node) {
    const NodeView* same = seen.find_node(node.name);
    if (same == nullptr || *node.labels != *same->labels) return;
    node.labels = same->labels;
    node.terminating_since = same->terminating_since;  // only the operator knows it
  });
  if (all != seen) throw std::logic_error("the operator does not see the cluster as it is");
}

void World::reconcile() {
  refresh_caches();
  if (const auto removed = operator_->leftovers.remove(job); !removed)
    throw std::runtime_error(removed.error().message);
  const auto observation = operator_->observer.observe(job);
  if (!observation) return;
  check_view(*observation->cluster);
  const Decision decision = decide(*observation);
  woken = decision.is_provisional ? std::vector<JobKey>() : operator_->observer.note_decided(*observation);
  requeue_after = decision.requeue_after;
  [[maybe_unused]] const auto applied = operator_->applier.apply(*observation, decision);
}

std::function<bool()> World::reconcile_later() {
  refresh_caches();
  const auto observation = operator_->observer.observe(job);
  return [paused = operator_, observation = observation.value(), decision = decide(observation.value())] {
    return paused->applier.apply(observation, decision).has_value();
  };
}

std::function<std::chrono::milliseconds()> World::write_pool_statuses_later() {
  refresh_caches();
  return [paused = operator_, fleet = operator_->observer.fleet()] { return paused->pool_statuses.write(fleet); };
}

void World::settle() {
  for (int i = 0; i < 12; ++i) {
    reconcile();
    live();
  }
}

void World::reconcile_all_jobs() {
  const JobKey selected = job;
  for (const Json& object : api_server.all("trainingjobs")) {
    job = kube::key_of(object);
    reconcile();
  }
  job = selected;
}

void World::settle_all_jobs() {
  for (int i = 0; i < 12; ++i) {
    reconcile_all_jobs();
    live();
  }
}

void World::add_priority_class(const std::string& name, int value, const Json& changes) {
  Json object = {{"apiVersion", "scheduling.k8s.io/v1"},
                 {"kind", "PriorityClass"},
                 {"metadata", {{"name", name}}},
                 {"value", value}};
  object.update(changes);
  api_server.put("/apis/scheduling.k8s.io/v1/priorityclasses", object);
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

GenerationRecord World::record() const { return record_of(api_server.find("jobrecords", job.name)).value(); }

void World::delete_job() { api_server.erase(kJobs, job.name); }

std::vector<std::pair<const char*, Json>> World::owned_objects() const {
  const std::string uid = kube::uid_of(api_server.find("trainingjobs", job.name));
  std::vector<std::pair<const char*, Json>> owned;
  for (const auto& [plural, collection] : kOwnedKinds) {
    for (Json& object : api_server.all(plural)) {
      if (kube::controller_uid(object) == uid) owned.emplace_back(collection, std::move(object));
    }
  }
  return owned;
}

void World::disown() {
  for (auto& [collection, object] : owned_objects()) {
    object["metadata"].erase("ownerReferences");
    api_server.put(collection, object);
  }
}

void World::collect_garbage() {
  for (const auto& [collection, object] : owned_objects()) api_server.erase(collection, kube::name_of(object));
}

void World::collect_objects_of_absent_jobs() {
  std::set<std::string> jobs;
  for (const Json& object : api_server.all("trainingjobs")) jobs.insert(kube::uid_of(object));
  for (const auto& [plural, collection] : kOwnedKinds) {
    for (const Json& object : api_server.all(plural)) {
      const std::string owner = kube::controller_uid(object);
      if (!owner.empty() && !jobs.contains(owner)) api_server.erase(collection, kube::name_of(object));
    }
  }
}

void World::lose_record() { api_server.erase(kRecords, job.name); }

Json World::status() const { return api_server.find("trainingjobs", job.name).value("status", Json::object()); }

Json World::pool_status(const std::string& pool) const {
  return api_server.find("gpupools", pool).value("status", Json::object());
}

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

std::vector<std::string> World::nodes_of(const std::string& name) const {
  std::vector<std::string> names;
  for (const Json& pod : api_server.all("pods")) {
    if (kube::label_of(pod, kJobNameLabel) == name) names.push_back(node_of_pod(pod));
  }
  std::ranges::sort(names);
  return names;
}

std::string World::pod_on(const std::string& node) const {
  for (const Json& pod : api_server.all("pods")) {
    if (node_of_pod(pod) == node) return kube::name_of(pod);
  }
  return {};
}

AgentView& World::agent_on(const std::string& node) {
  return agents.at(kube::uid_of(api_server.find("pods", pod_on(node))));
}

std::vector<std::string> World::nodes_in_use() const {
  std::vector<std::string> names;
  for (const Json& pod : api_server.all("pods")) names.push_back(node_of_pod(pod));
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> World::events() const {
  std::vector<std::string> reasons;
  for (const Json& event : api_server.all("events")) reasons.push_back(kube::text_at(event, {"reason"}));
  return reasons;
}

}  // namespace sailor::testing
