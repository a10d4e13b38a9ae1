#include "cli/live_cluster.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "core/manifest/manifest.h"
#include "core/model/compute_capability.h"
#include "operator/kube/time.h"
#include "operator/model/rival.h"
#include "operator/model/unused_pools.h"
#include "operator/reconcile/decide/queueing.h"
#include "operator/reconcile/observe/observer.h"

namespace sailor::cli {
namespace {

using Objects = std::vector<kube::Object>;

// The chart's Deployment of the operator, and its ConfigMap with the value networkModel.
constexpr const char* kOperatorSelector =
    "--selector=app.kubernetes.io/part-of=sailor,app.kubernetes.io/component=operator";
constexpr const char* kNetworkModelKey = "network-model.yaml";

bool is_forbidden(const Error& error) { return error.code == ErrorCode::kForbidden; }

// Returns what kubectl finds. If the user may not list such objects, returns none and adds a note with the consequence.
Result<Objects> get_if_allowed(const Kubectl& kubectl, const std::vector<std::string>& what,
                               const std::string& consequence, std::vector<std::string>& notes) {
  auto found = kubectl.get(what);
  if (found || !is_forbidden(found.error())) return found;
  notes.push_back(fmt::format("you may not list {}, so {}", what.front(), consequence));
  return Objects();
}

// Likewise for the objects of all namespaces, or only those of one if the user may not list the others.
Result<Objects> get_of_all_namespaces(const Kubectl& kubectl, const std::string& kind, const std::string& consequence,
                                      std::vector<std::string>& notes) {
  auto found = kubectl.get({kind, "--all-namespaces"});
  if (found || !is_forbidden(found.error())) return found;
  notes.push_back(fmt::format("you may not list the {} of other namespaces, so {}", kind, consequence));
  return get_if_allowed(kubectl, {kind}, consequence, notes);
}

ProfileBook profiles_of(const std::vector<kube::Object>& objects, std::vector<std::string>& notes) {
  ProfileBook profiles;
  for (const kube::Object& object : objects) {
    if (auto profile = profile_from_manifest(*object)) {
      profiles.add(*std::move(profile));
    } else {
      notes.push_back(fmt::format("ModelProfile {} is ignored: {}", kube::name_of(*object), profile.error().message));
    }
  }
  return profiles;
}

// The arguments of the operator.
struct OperatorFlags {
  ComputeCapability least_capability = kLeastComputeCapability;
  std::vector<std::string> namespaces;
  std::string kueue_version = "v1beta1";  // empty: it does not use Kueue
};

Result<void> read_flag(const std::string& text, OperatorFlags& flags) {
  constexpr std::string_view kCapability = "--min-compute-capability=";
  constexpr std::string_view kNamespaces = "--namespaces=";
  constexpr std::string_view kKueue = "--kueue=";
  if (text.starts_with(kCapability)) {
    const auto least = parse_compute_capability(text.substr(kCapability.size()));
    if (!least) return tl::unexpected(least.error());
    flags.least_capability = *least;
  }
  if (text.starts_with(kNamespaces)) {
    std::istringstream names(text.substr(kNamespaces.size()));
    for (std::string name; std::getline(names, name, ',');) flags.namespaces.push_back(name);
  }
  if (text.starts_with(kKueue)) flags.kueue_version = text.substr(kKueue.size());
  return {};
}

// Reads the arguments of the first operator that is found.
Result<OperatorFlags> read_flags(const Kubectl& kubectl, std::vector<std::string>& notes) {
  const auto operators = get_if_allowed(
      kubectl, {"deployments.apps", "--all-namespaces", kOperatorSelector},
      fmt::format("a trainer's image is assumed that has kernels for GPUs of compute capability {} and newer",
                  to_string(kLeastComputeCapability)),
      notes);
  if (!operators) return tl::unexpected(operators.error());
  OperatorFlags flags;
  if (operators->empty()) return flags;
  flags.kueue_version.clear();
  for (const kube::Json& container : kube::list_at(*operators->front(), {"spec", "template", "spec", "containers"})) {
    for (const kube::Json& argument : kube::list_at(container, {"args"})) {
      if (!argument.is_string()) continue;
      if (const auto read = read_flag(argument.get<std::string>(), flags); !read) return tl::unexpected(read.error());
    }
  }
  return flags;
}

// Returns the network model of the operator: the chart's value networkModel, or Google Cloud's figures.
Result<NetworkModel> read_network(const Kubectl& kubectl, std::vector<std::string>& notes) {
  const auto maps = get_if_allowed(kubectl, {"configmaps", "--all-namespaces", kOperatorSelector},
                                   "the network of Google Cloud is assumed, although the operator may have another "
                                   "networkModel",
                                   notes);
  if (!maps) return tl::unexpected(maps.error());
  std::vector<kube::Object> models;
  std::ranges::copy_if(*maps, std::back_inserter(models), [](const kube::Object& map) {
    return kube::find_at(*map, {"data", kNetworkModelKey}) != nullptr;
  });
  if (models.empty()) return google_cloud_network();
  const kube::Json& map = *models.front();
  const std::string name = "ConfigMap " + to_string(kube::key_of(map));
  if (models.size() > 1) notes.push_back("several operators have a network model; that of " + name + " is used");
  const auto documents = parse_documents(kube::text_at(map, {"data", kNetworkModelKey}), name);
  if (!documents) return tl::unexpected(documents.error());
  if (documents->empty()) return google_cloud_network();
  auto network = network_from_manifest(documents->front().value);
  if (!network) return tl::unexpected(documents->front().located(network.error()));
  return network;
}

std::vector<kube::Json> copies_of(const Objects& objects) {
  std::vector<kube::Json> copies;
  copies.reserve(objects.size());
  for (const kube::Object& object : objects) copies.push_back(*object);
  return copies;
}

// Returns the namespace in which kubectl would create an object that names none.
std::string namespace_of_context(const Kubectl& kubectl) {
  const auto text = kubectl.run({"config", "view", "--minify", "-o", "json"});
  const kube::Json config = text ? kube::Json::parse(*text, nullptr, false) : kube::Json();
  const kube::Json& contexts = kube::list_at(config, {"contexts"});
  const std::string name = contexts.empty() ? "" : kube::text_at(contexts.front(), {"context", "namespace"});
  return name.empty() ? "default" : name;
}

// Reads a cluster into the caches of an operator, so that the operator's own observer says what it would see.
class Reading {
 public:
  Reading(const Kubectl& kubectl, std::string name_space, const SourceDocument& job, OperatorFlags flags,
          std::vector<std::string> notes)
      : kubectl_(kubectl),
        job_(job.value),
        key_(std::move(name_space), kube::name_of(job_)),
        flags_(std::move(flags)),
        caches_(flags_.namespaces, /*has_queues=*/true),
        observer_(caches_, settings(), sources()) {
    live_.notes = std::move(notes);
  }

  Result<LiveCluster> read() {
    for (const auto step : {&Reading::read_nodes, &Reading::read_pods, &Reading::read_jobs, &Reading::read_priorities,
                            &Reading::read_models, &Reading::read_queue}) {
      if (const auto done = (this->*step)(); !done) return tl::unexpected(done.error());
    }
    live_.observation = observe();
    return std::move(live_);
  }

 private:
  Result<void> fill(kube::Store& store, const std::vector<std::string>& what, const std::string& consequence) {
    auto found = get_if_allowed(kubectl_, what, consequence, live_.notes);
    if (!found) return tl::unexpected(found.error());
    store.replace(copies_of(*found));
    return {};
  }

  Result<void> read_nodes() {
    const auto nodes = kubectl_.get({"nodes"});
    if (!nodes) return tl::unexpected(nodes.error());
    caches_.nodes.replace(copies_of(*nodes));
    const auto pools = kubectl_.get({"gpupools.sailor.dev"});
    if (!pools) return tl::unexpected(pools.error());
    caches_.pools.replace(copies_of(*pools));
    return {};
  }

  Result<void> read_pods() {
    const auto pods = get_of_all_namespaces(kubectl_, "pods", "the GPUs that they use count as free", live_.notes);
    if (!pods) return tl::unexpected(pods.error());
    caches_.foreign_pods.replace(copies_of(*pods));
    Objects of_jobs = *pods;
    std::erase_if(of_jobs, [&](const kube::Object& pod) {
      const bool is_foreign = caches_.foreign_pods.find(kube::key_of(*pod)) != nullptr;
      return is_foreign || gpus_of_pod(*pod) == 0;
    });
    caches_.pods.replace(copies_of(of_jobs));
    return {};
  }

  Result<void> read_jobs() {
    const auto jobs = get_of_all_namespaces(kubectl_, "trainingjobs.sailor.dev",
                                            "those do not count, neither as jobs that come first nor as jobs that "
                                            "could give GPUs to this one",
                                            live_.notes);
    if (!jobs) return tl::unexpected(jobs.error());
    const auto records = get_of_all_namespaces(
        kubectl_, "jobrecords.sailor.dev",
        "GPUs that a job has chosen, but whose pods do not exist yet, count as free, and slow GPUs as fast",
        live_.notes);
    if (!records) return tl::unexpected(records.error());
    Objects run = *jobs;
    std::erase_if(run, [&](const kube::Object& job) { return !is_run(kube::namespace_of(*job)); });
    if (!is_run(key_.namespace_name)) {
      live_.notes.push_back(
          fmt::format("the operator does not run jobs of namespace {}; see its --namespaces", key_.namespace_name));
    }
    caches_.jobs.replace(copies_of(run));
    caches_.records.replace(copies_of(*records));
    put_job();
    return {};
  }

  [[nodiscard]] bool is_run(const std::string& name_space) const {
    return flags_.namespaces.empty() || std::ranges::find(flags_.namespaces, name_space) != flags_.namespaces.end();
  }

  // Puts the job of the file in the place of the one that the cluster has.
  void put_job() {
    const kube::Object existing = caches_.jobs.find(key_);
    kube::Json job = job_;
    kube::Json& metadata = job["metadata"];
    metadata["namespace"] = key_.namespace_name;
    metadata["uid"] = existing == nullptr ? kNewUid : kube::uid_of(*existing);
    metadata["creationTimestamp"] = to_rfc3339(existing == nullptr ? now_ : kube::created_at(*existing));
    job["spec"].erase("suspend");
    job.erase("status");
    if (existing != nullptr) caches_.jobs.erase(*existing);
    caches_.jobs.put(std::move(job));
  }

  Result<void> read_priorities() {
    const auto classes =
        get_if_allowed(kubectl_, {"priorityclasses.scheduling.k8s.io"},
                       "all jobs count as of equal priority, so none gives GPUs to this one", live_.notes);
    if (!classes) return tl::unexpected(classes.error());
    caches_.priority_classes.replace(copies_of(*classes));
    const std::string name = priority_class_of(job_);
    if (!name.empty() && !classes->empty() && caches_.priority_classes.find({"", name}) == nullptr)
      live_.notes.push_back(
          fmt::format("PriorityClass {} does not exist, so the cluster would refuse the job's pods", name));
    return {};
  }

  Result<void> read_models() {
    auto network = read_network(kubectl_, live_.notes);
    if (!network) return tl::unexpected(network.error());
    live_.network = *std::move(network);
    const auto profiles =
        get_if_allowed(kubectl_, {"modelprofiles.sailor.dev"}, "times are computed from data sheets", live_.notes);
    if (!profiles) return tl::unexpected(profiles.error());
    live_.profiles = profiles_of(*profiles, live_.notes);
    return {};
  }

  Result<void> read_queue() {
    const std::string queue = kube::label_of(job_, kQueueLabel);
    if (queue.empty() || flags_.kueue_version.empty()) return {};
    std::vector<std::string> missing;
    const std::string unlimited = fmt::format("no limit by queue {} is assumed", queue);
    auto locals = get_if_allowed(kubectl_, {"localqueues.kueue.x-k8s.io"}, unlimited, missing);
    if (!locals) return tl::unexpected(locals.error());
    auto cluster_queues = get_if_allowed(kubectl_, {"clusterqueues.kueue.x-k8s.io"}, unlimited, missing);
    if (!cluster_queues) return tl::unexpected(cluster_queues.error());
    auto flavors = get_if_allowed(kubectl_, {"resourceflavors.kueue.x-k8s.io"}, unlimited, missing);
    if (!flavors) return tl::unexpected(flavors.error());
    if (!missing.empty()) {
      is_unlimited_ = true;
      live_.notes.insert(live_.notes.end(), missing.begin(), missing.end());
      return {};
    }
    const auto workloads = get_of_all_namespaces(kubectl_, "workloads.kueue.x-k8s.io",
                                                 "who holds the quota is not known of those", live_.notes);
    if (!workloads) return tl::unexpected(workloads.error());
    if (auto done = fill(caches_.queue_priorities, {"workloadpriorityclasses.kueue.x-k8s.io"},
                         "the class that the job names may not exist");
        !done)
      return done;
    caches_.flavors.replace(copies_of(*flavors));
    caches_.workloads.replace(copies_of(*workloads));
    ask_queue(*locals, {*std::move(cluster_queues), *workloads});
    return {};
  }

  // Gives the job what Kueue would give it, unless it has enough already.
  void ask_queue(const Objects& local_queues, const QueueObjects& objects) {
    const std::string name = kube::label_of(job_, kQueueLabel);
    const auto local =
        std::ranges::find_if(local_queues, [&](const kube::Object& queue) { return kube::name_of(*queue) == name; });
    if (local == local_queues.end()) {
      live_.queue = QueueAnswer{.queue = name};
      live_.queue->fault = fmt::format("LocalQueue {} does not exist in namespace {}", name, key_.namespace_name);
      return;
    }
    Observation observation = observe();
    if (!observation.job.spec || await_quota(observation) == std::nullopt) return;
    for (const Workload& workload : observation.queue.value().workloads) caches_.workloads.erase(*workload.object);
    observation.queue.value().workloads.clear();
    PolicyResult request;
    serve_queue(request, observation);
    for (const Action& action : request.actions) {
      const auto* create = std::get_if<CreateWorkload>(&action);
      if (create == nullptr) continue;
      const Workload asked = workload_of(std::make_shared<const kube::Json>(create->workload));
      live_.queue = answer_of_queue(asked, **local, objects, observation);
      if (live_.queue->given > 0) caches_.workloads.put(admitted(asked, *live_.queue, now_));
    }
  }

  [[nodiscard]] OperatorSettings settings() const {
    OperatorSettings settings;
    settings.least_capability = flags_.least_capability;
    settings.kueue_version = flags_.kueue_version;
    return settings;
  }

  [[nodiscard]] ObserverSources sources() const {
    return {.read_job = job_from_manifest,
            .profiles = [] { return nullptr; },
            .agents = [](const JobKey&) { return std::map<std::string, AgentView>(); },
            .answers = [](const JobKey&) { return std::vector<PlanAnswer>(); },
            .refusal = [](const JobKey&) { return std::nullopt; },
            .secured_at = [](const JobKey&, const std::string&) { return std::nullopt; },
            .trust_change = [] { return std::nullopt; },
            .clock = [now = now_] { return now; }};
  }

  [[nodiscard]] Observation observe() const {
    Observation observation = observer_.observe(key_).value();
    observation.pods.clear();
    observation.vanished.clear();
    if (is_unlimited_) observation.queue.reset();
    return observation;
  }

  static constexpr const char* kNewUid = "new";

  const Kubectl& kubectl_;
  const kube::Json job_;
  const JobKey key_;
  const OperatorFlags flags_;
  const Time now_ = system_time();
  Caches caches_;
  const Observer observer_;
  bool is_unlimited_ = false;  // the user may not see the quotas
  LiveCluster live_;
};

}  // namespace

Result<LiveCluster> read_live_cluster(const KubectlOptions& options, const SourceDocument& job_document) {
  KubectlOptions of_job = options;
  if (of_job.name_space.empty()) of_job.name_space = kube::text_at(job_document.value, {"metadata", "namespace"});
  if (of_job.name_space.empty()) of_job.name_space = namespace_of_context(Kubectl(options));
  const Kubectl kubectl(of_job);
  std::vector<std::string> notes;
  auto flags = read_flags(kubectl, notes);
  if (!flags) return tl::unexpected(flags.error());
  auto live = Reading(kubectl, of_job.name_space, job_document, *std::move(flags), std::move(notes)).read();
  if (!live) return live;
  const Observation& observation = live->observation;
  for (const auto& [pool, refusal] : observation.cluster->refusals) {
    if (refusal.holds(observation.now))
      live->notes.push_back(fmt::format("{} has given no node, and is not asked for one before {}: {}", to_string(pool),
                                        to_rfc3339(refusal.until), refusal.message));
  }
  JobStatus status;
  set_unused_pools(status, observation.job.spec.value(), *observation.cluster);
  for (const UnusedPool& unused : unused_pools(status)) live->notes.push_back(warning_about(unused));
  return live;
}

}  // namespace sailor::cli
