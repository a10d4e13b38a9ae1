#include "operator/reconcile/observe/observer.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/model/parse_number.h"
#include "operator/kube/resource.h"
#include "operator/model/gpu_claims.h"
#include "operator/model/job_status.h"
#include "operator/model/names.h"
#include "operator/model/observation_queries.h"
#include "operator/model/orphan.h"
#include "operator/model/record_object.h"
#include "operator/reconcile/observe/pod_view.h"
#include "operator/reconcile/observe/spec_to_suspend.h"

namespace sailor {
namespace {

using kube::Json;

JobView job_view(const Json& object, const JobIndex& jobs) {
  JobView view;
  view.key = kube::key_of(object);
  view.uid = kube::uid_of(object);
  view.version = kube::version_of(object);
  view.spec_generation = kube::integer_at(object, {"metadata", "generation"});
  view.is_deleting = kube::is_deleting(object);
  view.created = kube::created_at(object);
  view.managed_by = kube::text_at(object, {"spec", "managedBy"});
  view.priority_class = priority_class_of(object);
  view.spec = jobs.spec_of(object);
  if (const Json* pod_template = kube::find_at(object, {"spec", "podTemplate"})) view.pod_template = *pod_template;
  if (const Json* status = kube::find_at(object, {"status"})) view.status = job_status_from_json(*status);
  return view;
}

std::string controller_name(const Json& object) {
  for (const Json& owner : kube::list_at(object, {"metadata", "ownerReferences"})) {
    const bool is_job = kube::text_at(owner, {"kind"}) == kube::kTrainingJobs.kind;
    if (is_job && kube::bool_at(owner, {"controller"})) return kube::text_at(owner, {"name"});
  }
  return {};
}

// The members of all generations that may still run, each pod once.
std::vector<Member> all_members(const GenerationRecord& record) {
  std::vector<Member> members = record.members;
  if (record.running) members.insert(members.end(), record.running->members.begin(), record.running->members.end());
  for (const OlderRecord& older : record.older) {
    members.insert(members.end(), older.members.begin(), older.members.end());
  }
  std::ranges::stable_sort(members, {}, &Member::pod_uid);
  const auto repeated = std::ranges::unique(members, {}, &Member::pod_uid);
  members.erase(repeated.begin(), repeated.end());
  return members;
}

// Describes a pod whose object is gone although its agent answers. Once the agent has answered after that, the pod
// counts as being deleted, so the job moves away from it without losing its state. A last answer from before proves
// nothing, because most pods are gone because they have ended.
PodView view_of_vanished(const Member& member, const GenerationRecord& record, bool has_answered_since) {
  PodView view;
  view.name = member.address.name;
  view.uid = member.pod_uid;
  view.node = member.node;
  view.ip = member.address.host;
  view.phase = PodPhase::kRunning;
  view.is_gone = true;
  view.is_deleting = has_answered_since;
  view.gpus = member.address.gpus;
  view.pool = member.address.pool;
  const bool is_newest = member_of(record, member.pod_uid) != nullptr;
  view.created_for_generation = is_newest ? record.generation : 0;
  return view;
}

// Gives each slot for a new node the node that the scheduler has found for its pod.
void find_new_nodes(Generation& generation, const std::vector<PodView>& pods, const kube::Store& nodes) {
  for (Slot& slot : generation.placement.slots) {
    if (!slot.node.empty()) continue;
    const auto pod = std::ranges::find(pods, slot.pod, &PodView::name);
    if (pod == pods.end() || !pod->is_ours || pod->node.empty()) continue;
    const kube::Object node = nodes.find({"", pod->node});
    if (node == nullptr) continue;
    slot.node = pod->node;
    slot.node_uid = kube::uid_of(*node);
  }
}

// Pods on nodes of a flavor need its tolerations.
void add_tolerations(Json& pod_template, const QueueView& queue) {
  std::set<std::string> flavors;
  for (const Workload& workload : queue.workloads) {
    if (workload.gpus() > 0) flavors.insert(workload.flavor);
  }
  for (const std::string& name : flavors) {
    const auto flavor = queue.flavors.find(name);
    if (flavor == queue.flavors.end()) continue;
    for (const Json& toleration : flavor->second.tolerations) pod_template["spec"]["tolerations"].push_back(toleration);
  }
}

}  // namespace

Observer::Observer(Caches& caches, OperatorSettings settings, ObserverSources sources)
    : caches_(caches),
      settings_(std::move(settings)),
      sources_(std::move(sources)),
      jobs_(caches.jobs, sources_.read_job),
      fleet_(caches, jobs_,
             {.record = [this](const JobKey& key, const std::string& job_uid) { return record(key, job_uid); },
              .priority = [this](const Json& job) { return priority_of(job); },
              .least_capability = settings_.least_capability}) {}

JobPriority Observer::priority_of(const Json& job) const {
  const std::string name = priority_class_of(job);
  if (!name.empty()) {
    const kube::Object named = caches_.priority_classes.find({"", name});
    return named == nullptr ? JobPriority{} : priority_from(*named);
  }
  for (const kube::Object& priority_class : caches_.priority_classes.all()) {
    if (kube::bool_at(*priority_class, {"globalDefault"})) return priority_from(*priority_class);
  }
  return {};
}

kube::Object Observer::plan_map(const JobKey& key) const {
  return caches_.plan_maps.find({key.namespace_name, plan_map_name(key.name)});
}

// A JobRecord of an earlier job of the same name counts as absent, because the garbage collector is about to remove it.
Result<GenerationRecord> Observer::record(const JobKey& key, const std::string& job_uid) const {
  const kube::Object object = caches_.records.find(key);
  if (object != nullptr && kube::controller_uid(*object) == job_uid) {
    auto record = record_of(*object);
    if (!record || record->job_uid == job_uid) return record;
    return fail(ErrorCode::kInvalidArgument, fmt::format("JobRecord {} is of another job with the UID {}; delete it",
                                                         to_string(key), record->job_uid));
  }
  if (object != nullptr && controller_name(*object) != key.name) {
    return fail(ErrorCode::kConflict, fmt::format("JobRecord {} exists, but this job does not own it, so the operator "
                                                  "cannot store the job's plan; delete the JobRecord, or give the job "
                                                  "another name",
                                                  to_string(key)));
  }
  return fail(ErrorCode::kNotFound, "job " + to_string(key) + " has no record");
}

std::optional<Result<GenerationRecord>> Observer::imported_record(const JobKey& key, const std::string& job_uid) const {
  const kube::Object map = plan_map(key);
  if (map == nullptr || kube::controller_uid(*map) != job_uid) return std::nullopt;
  return record_of_older_operator(*map);
}

void Observer::read_record(Observation& observation) const {
  auto record = this->record(observation.job.key, observation.job.uid);
  if (!record && record.error().code == ErrorCode::kNotFound) {
    auto imported = imported_record(observation.job.key, observation.job.uid);
    if (!imported) return;
    observation.is_record_imported = true;
    record = *std::move(imported);
  }
  if (record) {
    observation.record = std::move(*record);
  } else {
    observation.record_error = record.error().message;
  }
}

void Observer::read_plan_map(Observation& observation) const {
  const kube::Object map = plan_map(observation.job.key);
  if (map == nullptr || is_orphan(*map)) return;  // the job takes it over
  const auto generation = parse_number<std::int64_t>(kube::annotation_of(*map, kGenerationAnnotation));
  observation.plan_map = {kube::controller_uid(*map) == observation.job.uid, generation.value_or(0)};
}

void Observer::read_leases(Observation& observation) const {
  if (!observation.record) return;
  std::set<std::int64_t> superseded;
  for (const auto& [uid, agent] : observation.agents) {
    if (agent.report) superseded.insert(agent.report->superseded_claim);
  }
  auto known = leases_.update(observation.job.key, *observation.record, superseded, sources_.monotonic());
  observation.unrenewed_for = std::move(known.unrenewed);
  observation.claimed_for = std::move(known.claimed);
}

void Observer::add_vanished_pods(Observation& observation) const {
  if (!observation.record) return;
  for (Member& member : all_members(*observation.record)) {
    if (std::ranges::find(observation.pods, member.pod_uid, &PodView::uid) != observation.pods.end()) continue;
    observation.agents.try_emplace(member.pod_uid);  // not polled yet
    observation.vanished.push_back(std::move(member));
  }
  const auto since = vanished_.update(observation.job.key, observation.vanished, sources_.monotonic());
  for (const Member& member : observation.vanished) {
    const AgentView& agent = observation.agents.at(member.pod_uid);
    if (!agent.answers()) continue;
    const bool has_answered_since = agent.answered_at > since.at(member.pod_uid);
    observation.pods.push_back(view_of_vanished(member, *observation.record, has_answered_since));
  }
  std::ranges::stable_sort(observation.pods, {}, &PodView::name);
}

// A job that has left its queue has its Workloads still to delete.
void Observer::read_queue(Observation& observation, const Json& job) const {
  QueueView queue;
  queue.name = kube::label_of(job, kQueueLabel);
  for (kube::Object& object : caches_.workloads.tagged(job_tag(observation.job.key))) {
    if (kube::controller_uid(*object) != observation.job.uid) continue;
    Workload workload = workload_of(std::move(object));
    if (!workload.is_finished) queue.workloads.push_back(std::move(workload));
  }
  if (queue.name.empty() && queue.workloads.empty()) return;
  std::ranges::sort(queue.workloads, {}, [&](const Workload& workload) {
    return number_of(workload, observation.job.key, observation.job.uid);
  });
  for (const kube::Object& flavor : caches_.flavors.all())
    queue.flavors.emplace(kube::name_of(*flavor), flavor_of(*flavor));
  add_tolerations(observation.job.pod_template, queue);
  queue.priority = observation.job.priority.value;
  if (const std::string name = kube::label_of(job, kQueuePriorityLabel); !name.empty()) {
    const kube::Object priority = caches_.queue_priorities.find({"", name});
    if (priority == nullptr) {
      queue.fault = fmt::format("WorkloadPriorityClass {}, which label {} of the job names, does not exist.", name,
                                kQueuePriorityLabel);
    } else {
      queue.priority = priority_from(*priority).value;
    }
  }
  if (settings_.kueue_version.empty()) {
    queue.fault = fmt::format(
        "Label {} of the job names queue {}, but the operator does not use Kueue. Install it with "
        "the chart's value kueue.enabled, or remove the label.",
        kQueueLabel, queue.name);
  }
  observation.queue = std::move(queue);
}

std::optional<Observation> Observer::observe(const JobKey& key) const {
  const kube::Object object = caches_.jobs.find(key);
  if (object == nullptr) {
    measurements_.forget(key);
    return std::nullopt;
  }
  Observation observation;
  observation.now = sources_.clock();
  observation.monotonic_now = sources_.monotonic();
  observation.settings = settings_;
  observation.job = job_view(*object, jobs_);
  read_record(observation);
  if (auto& spec = observation.job.spec; !spec && kube::bool_at(*object, {"spec", "suspend"})) {
    if (auto known = spec_to_suspend(*object, observation.record, sources_.read_job)) {
      observation.job.spec_fault = spec.error().message;
      spec = *std::move(known);
    }
  }
  read_plan_map(observation);
  for (const kube::Object& pod : caches_.pods.tagged(job_tag(key))) {
    PodView& view = observation.pods.emplace_back(pod_view(*pod, observation.job.uid));
    for (const kube::Store* store : {&caches_.scale_ups, &caches_.karpenter_words}) {
      for (const kube::Object& event : store->tagged(pod_tag(view.uid)))
        view.scale_up = newer(std::move(view.scale_up), scale_up_from(*event));
    }
    note_start_failures(view, caches_.start_failures.tagged(pod_tag(view.uid)));
  }
  if (auto& record = observation.record) {
    find_new_nodes(*record, observation.pods, caches_.nodes);
    if (record->running) find_new_nodes(*record->running, observation.pods, caches_.nodes);
  }
  observation.agents = sources_.agents(key);
  add_vanished_pods(observation);
  for (PodView& pod : observation.pods) {
    const AgentView* agent = find_agent(observation, pod);
    if (agent != nullptr && agent->report) note_end(pod, *agent->report);
  }
  read_leases(observation);
  FleetSnapshot fleet = fleet_.look(observation.now, observation.monotonic_now);
  observation.rivals = std::move(fleet.rivals);
  observation.cluster = std::move(fleet.cluster);
  observation.histories = std::move(fleet.histories);
  observation.job.priority = priority_of(*object);
  read_queue(observation, *object);
  observation.profiles = sources_.profiles();
  observation.answers = sources_.answers(key);
  observation.refusal = sources_.refusal(key);
  observation.secured_at = sources_.secured_at(key, observation.job.uid);
  observation.trust_change = sources_.trust_change();
  observation.status_age = sources_.status_age(key, observation.job.uid, observation.monotonic_now);
  measurements_.fill_in(observation);
  return observation;
}

std::vector<JobKey> Observer::note_decided(const Observation& observation) const {
  const JobView& job = observation.job;
  const Rival* rival = observation.rivals->find(job.uid);
  if (!fleet_.note_decided(job.key, job.uid) || rival == nullptr || rival->state != RivalState::kUndecided) return {};
  if (job.status.conditions.empty()) return {};
  std::vector<JobKey> waiting = jobs_.those_that_wait_beside(rival->demand->resources);
  std::erase(waiting, job.key);
  return waiting;
}

}  // namespace sailor
