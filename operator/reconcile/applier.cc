#include "operator/reconcile/applier.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/model/cut_text.h"
#include "core/protocol/credentials.h"
#include "operator/kube/remedy.h"
#include "operator/model/names.h"
#include "operator/model/orphan.h"
#include "operator/model/record_object.h"
#include "operator/render/job_security.h"

namespace sailor {
namespace {

using kube::ApiResult;
using kube::Json;

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

constexpr std::size_t kLongestRefusal = 600;  // leaves room for a remedy in the note of an event

// Returns the words of the server and a remedy, as sentences.
std::string explained(const kube::ApiError& refusal) {
  std::string words = cut_text(refusal.server_message, kLongestRefusal);
  while (words.ends_with('.') || words.ends_with(' ')) words.pop_back();
  return fmt::format("{}. {}", words, kube::remedy_for_pod(refusal));
}

std::string text_of_lost_labels(const JobView& job, const std::string& pod) {
  return fmt::format(
      "Pod {0} is refused: it exists, but has lost the labels by which Sailor finds it. Delete it, or put them back: "
      "kubectl label --overwrite -n {1} pod {0} {2}={3} {4}={5}",
      pod, job.key.namespace_name, kJobNameLabel, short_job_name(job.key.name), kJobUidLabel, job.uid);
}

// Returns the part of a Secret with credentials that says whom its readers trust.
Json without_certificate(const Json& secret) {
  return {{"apiVersion", secret.at("apiVersion")},
          {"kind", secret.at("kind")},
          {"metadata", {{"name", kube::name_of(secret)}, {"namespace", kube::namespace_of(secret)}}},
          {"data", {{kCaFile, secret.at("data").at(kCaFile)}}}};
}

}  // namespace

ApiResult<void> Applier::apply(const Observation& observation, const Decision& decision,
                               const std::function<void()>& records_written) {
  const auto writes_record = [](const Action& action) { return std::holds_alternative<WriteRecord>(action); };
  auto records = std::ranges::count_if(decision.actions, writes_record);
  if (records == 0) records_written();
  for (const Action& action : decision.actions) {
    if (auto done = perform(observation, action); !done) return done;
    if (writes_record(action) && --records == 0) records_written();
  }
  const auto asks = [](const Action& action) { return std::holds_alternative<AskPlanner>(action); };
  if (std::ranges::none_of(decision.actions, asks)) sinks_.ask_nothing(observation.job.key);
  if (decision.status) {
    if (auto done = write_status(observation, *decision.status); !done) return done;
  }
  for (const JobEvent& event : decision.events) sinks_.post({observation.job.key, observation.job.uid}, event);
  return {};
}

ApiResult<void> Applier::perform(const Observation& observation, const Action& action) {
  return std::visit(
      Overloaded{
          [&](const WriteRecord& write) { return write_record(observation, write.record); },
          [&](const PublishPlan& publish) { return publish_plan(publish.plan_map); },
          [&](const SecureJob& secure_job) { return secure(observation, secure_job); },
          [&](const CreatePod& create) { return create_pod(observation, create.pod); },
          [&](const DeletePod& pod) { return delete_pod(observation, pod); },
          [&](const SendAssignment& send) {
            sinks_.send(observation.job.key, send);
            return ApiResult<void>();
          },
          [&](const ClaimFolder& claim) {
            sinks_.claim_folder(observation.job.key, claim);
            return ApiResult<void>();
          },
          [&](const UpdateCallback& update) {
            sinks_.update_callback(observation.job.key, update);
            return ApiResult<void>();
          },
          [&](const AskPlanner& ask) {
            sinks_.ask(ask.question);
            return ApiResult<void>();
          },
          [&](const DeleteJob&) { return api_.remove(kube::kTrainingJobs, observation.job.key, observation.job.uid); },
          [&](const CreateWorkload& create) {
            return write_workload(observation, create.workload, &kube::Api::create);
          },
          [&](const ReplaceWorkload& replace) {
            return write_workload(observation, replace.workload, &kube::Api::replace);
          },
          [&](const ReplaceWorkloadStatus& replace) {
            return write_workload(observation, replace.workload, &kube::Api::replace_status);
          },
          [&](const DeleteWorkload& workload) {
            const JobKey key{observation.job.key.namespace_name, workload.name};
            return api_.remove(kube::workloads(observation.settings.kueue_version), key, workload.uid);
          }},
      action);
}

ApiResult<void> Applier::write_workload(const Observation& observation, const Json& workload, Write write) {
  auto written = (api_.*write)(kube::workloads(observation.settings.kueue_version), workload);
  if (written) {
    caches_.workloads.put(std::move(*written));
    return {};
  }
  if (written.error().is_refusal()) {
    sinks_.post({observation.job.key, observation.job.uid},
                {true, Reason::kWorkloadRefused,
                 fmt::format("Workload {} is refused: {}", kube::name_of(workload),
                             cut_text(written.error().server_message, kLongestRefusal))});
  }
  return tl::unexpected(std::move(written).error());
}

// Fails with a conflict if another process has written the record since the observation; the job is then observed and
// decided again. The version comes from the cache and not from the observation, because one decision may write the
// record twice.
ApiResult<void> Applier::write_record(const Observation& observation, const GenerationRecord& record) {
  const kube::Object held = caches_.records.find(observation.job.key);
  const bool is_known = held != nullptr && kube::controller_uid(*held) == observation.job.uid;
  const Json object = job_record_of(record, observation.job.key, is_known ? kube::version_of(*held) : "");
  auto written = is_known ? api_.apply(kube::kJobRecords, object) : api_.create(kube::kJobRecords, object);
  if (!written) return tl::unexpected(std::move(written).error());
  caches_.records.put(std::move(*written));
  return {};
}

// A ConfigMap of this name that is not the job's stays as it is. The cache keeps it with the generation that it should
// show, so the next decision reports it, and only the next generation tries again.
ApiResult<void> Applier::publish_plan(const Json& plan_map) {
  const JobKey key = kube::key_of(plan_map);
  const kube::Object held = caches_.plan_maps.find(key);
  const bool is_known =
      held != nullptr && (kube::controller_uid(*held) == kube::controller_uid(plan_map) || is_orphan(*held));
  auto written = is_known ? api_.apply(kube::kConfigMaps, plan_map) : api_.create(kube::kConfigMaps, plan_map);
  if (!written && written.error().already_exists()) {
    written = api_.get(kube::kConfigMaps, key);
    if (written) {
      (*written)["metadata"]["annotations"][kGenerationAnnotation] =
          kube::annotation_of(plan_map, kGenerationAnnotation);
    }
    if (held != nullptr) caches_.plan_maps.erase(*held);  // the cache would ignore an object of the same version
  }
  if (!written) return tl::unexpected(std::move(written).error());
  caches_.plan_maps.put(std::move(*written));
  return {};
}

// The refusal of an object that `pod` needs counts as a refusal of the pod.
ApiResult<void> Applier::secure(const Observation& observation, const SecureJob& action) {
  const std::string& pod = action.pod;
  const JobView& job = observation.job;
  const auto refusal = refusals_.find(job.key);
  if (refusal && refusal->holds(observation.now, job.spec_generation)) return {};
  std::vector<std::pair<const kube::Resource*, Json>> objects = {
      {&kube::kSecrets, credentials_secret(job, sinks_.issue_credentials(job.key))}};
  if (observation.settings.isolates_jobs) objects.emplace_back(&kube::kNetworkPolicies, job_network_policy(job));
  for (const auto& [resource, object] : objects) {
    const bool is_kept = action.keeps_certificates && resource == &kube::kSecrets;
    auto written = is_kept ? api_.merge(*resource, without_certificate(object)) : api_.apply(*resource, object);
    if (!written && is_kept && written.error().is_not_found()) written = api_.apply(*resource, object);
    if (written) continue;
    if (pod.empty() || !written.error().is_refusal()) return tl::unexpected(written.error());
    note_refusal(observation, pod,
                 fmt::format("{} {}, which pod {} needs, is refused: {}", resource->kind, kube::name_of(object), pod,
                             explained(written.error())));
    return {};
  }
  secured_jobs_.note(job.key, job.uid, observation.now);
  return {};
}

ApiResult<void> Applier::create_pod(const Observation& observation, const Json& pod) {
  const auto refusal = refusals_.find(observation.job.key);
  if (refusal && refusal->holds(observation.now, observation.job.spec_generation)) return {};
  auto created = api_.create(kube::kPods, pod);
  if (created) {
    refusals_.accept(observation.job.key, kube::name_of(pod));
    caches_.pods.put(std::move(*created));
    return {};
  }
  if (created.error().already_exists()) return accept_existing(observation, kube::key_of(pod));
  if (!created.error().is_refusal()) return tl::unexpected(std::move(created).error());
  note_refusal(observation, kube::name_of(pod),
               fmt::format("Pod {} is refused: {}", kube::name_of(pod), explained(created.error())));
  return {};
}

// A pod of this job that exists already was created before the operator last stopped, or its watch event is late. Or it
// has lost its labels, so that no watch shows it. The operator may not change pods, so a user has to put them back.
ApiResult<void> Applier::accept_existing(const Observation& observation, const JobKey& key) {
  auto existing = api_.get(kube::kPods, key);
  if (!existing && existing.error().is_not_found()) return {};  // it is gone again, and the next decision creates it
  if (!existing) return tl::unexpected(std::move(existing).error());
  if (kube::controller_uid(*existing) != observation.job.uid) {
    note_refusal(observation, key.name,
                 fmt::format("Pod {} is refused: a pod that does not belong to the job has this name. Delete that pod, "
                             "or give the job another name.",
                             key.name));
    return {};
  }
  if (kube::label_of(*existing, kJobNameLabel) != short_job_name(observation.job.key.name)) {
    note_refusal(observation, key.name, text_of_lost_labels(observation.job, key.name));
    return {};
  }
  refusals_.accept(observation.job.key, key.name);
  caches_.pods.put(std::move(*existing));
  return {};
}

void Applier::note_refusal(const Observation& observation, const std::string& pod, const std::string& message) {
  refusals_.note(observation, pod, message);
  sinks_.refused(observation.job.key);
}

ApiResult<void> Applier::delete_pod(const Observation& observation, const DeletePod& pod) {
  return api_.remove(kube::kPods, {observation.job.key.namespace_name, pod.name}, pod.uid);
}

// The resourceVersion makes a status of an outdated observation fail: a former leader that was paused before this write
// cannot undo what the next leader has written, such as the end of the job.
ApiResult<void> Applier::write_status(const Observation& observation, const JobStatus& status) {
  const Json object = {{"apiVersion", kube::kTrainingJobs.group_version},
                       {"kind", kube::kTrainingJobs.kind},
                       {"metadata",
                        {{"name", observation.job.key.name},
                         {"namespace", observation.job.key.namespace_name},
                         {"uid", observation.job.uid},
                         {"resourceVersion", observation.job.version}}},
                       {"status", to_json(status)}};
  auto written = api_.apply_status(kube::kTrainingJobs, object);
  if (!written) return tl::unexpected(std::move(written).error());
  sinks_.wrote_status({observation.job.key, observation.job.uid});  // first: the watch causes the next observation
  caches_.jobs.put(std::move(*written));
  return {};
}

}  // namespace sailor
