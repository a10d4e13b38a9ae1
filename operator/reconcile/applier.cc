#include "operator/reconcile/applier.h"

#include <fmt/format.h>

#include "operator/model/names.h"

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

Json job_reference(const Observation& observation) {
  return {{"apiVersion", kube::kTrainingJobs.group_version},
          {"kind", kube::kTrainingJobs.kind},
          {"namespace", observation.job.key.namespace_name},
          {"name", observation.job.key.name},
          {"uid", observation.job.uid}};
}

}  // namespace

ApiResult<void> Applier::apply(const Observation& observation, const Decision& decision) {
  for (const Action& action : decision.actions) {
    if (auto done = perform(observation, action); !done) return done;
  }
  if (decision.status) {
    if (auto done = write_status(observation, *decision.status); !done) return done;
  }
  for (const JobEvent& event : decision.events) post_event(observation, event);
  return {};
}

ApiResult<void> Applier::perform(const Observation& observation, const Action& action) {
  return std::visit(Overloaded{[&](const WriteRecord& write) { return write_record(observation, write.record); },
                               [&](const CreatePod& create) { return create_pod(create.pod); },
                               [&](const DeletePod& pod) { return delete_pod(observation, pod); },
                               [&](const SendAssignment& send) {
                                 sinks_.send(observation.job.key, send);
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
                               [&](const DeleteJob&) {
                                 return api_.remove(kube::kTrainingJobs, observation.job.key, observation.job.uid);
                               }},
                    action);
}

// Fails with a conflict if another process has written the record since the observation; the job is then observed and
// decided again. The version comes from the cache and not from the observation, because one decision may write the
// record twice.
ApiResult<void> Applier::write_record(const Observation& observation, const GenerationRecord& record) {
  const kube::Object held =
      caches_.records.find({observation.job.key.namespace_name, record_name(observation.job.key.name)});
  const bool is_known = held != nullptr && kube::controller_uid(*held) == observation.job.uid;
  const Json map = config_map_of(record, observation.job.key, is_known ? kube::version_of(*held) : "");
  auto written = is_known ? api_.apply(kube::kConfigMaps, map) : api_.create(kube::kConfigMaps, map);
  if (!written) return tl::unexpected(std::move(written).error());
  caches_.records.put(std::move(*written));
  return {};
}

// A pod that exists already counts as success. The name identifies the slot; if the pod is a different one, the next
// observation shows it.
ApiResult<void> Applier::create_pod(const Json& pod) {
  auto created = api_.create(kube::kPods, pod);
  if (created) {
    caches_.pods.put(std::move(*created));
  } else if (!created.error().already_exists()) {
    return tl::unexpected(std::move(created).error());
  }
  return {};
}

ApiResult<void> Applier::delete_pod(const Observation& observation, const DeletePod& pod) {
  return api_.remove(kube::kPods, {observation.job.key.namespace_name, pod.name}, pod.uid);
}

ApiResult<void> Applier::write_status(const Observation& observation, const JobStatus& status) {
  const Json object = {{"apiVersion", kube::kTrainingJobs.group_version},
                       {"kind", kube::kTrainingJobs.kind},
                       {"metadata",
                        {{"name", observation.job.key.name},
                         {"namespace", observation.job.key.namespace_name},
                         {"uid", observation.job.uid}}},
                       {"status", to_json(status)}};
  auto written = api_.apply_status(kube::kTrainingJobs, object);
  if (!written) return tl::unexpected(std::move(written).error());
  caches_.jobs.put(std::move(*written));
  return {};
}

void Applier::post_event(const Observation& observation, const JobEvent& event) {
  const auto nanoseconds = std::chrono::system_clock::now().time_since_epoch().count();
  const Json object = {
      {"apiVersion", kube::kEvents.group_version},
      {"kind", kube::kEvents.kind},
      {"metadata",
       {{"name", fmt::format("{}.{:x}{:x}", short_job_name(observation.job.key.name), nanoseconds, ++events_)},
        {"namespace", observation.job.key.namespace_name}}},
      {"eventTime", to_rfc3339_micro(observation.now)},
      {"regarding", job_reference(observation)},
      {"type", event.is_warning ? "Warning" : "Normal"},
      {"reason", to_string(event.reason)},
      {"note", event.message},
      {"action", to_string(event.reason)},
      {"reportingController", "sailor.dev/operator"},
      {"reportingInstance", instance_}};
  // A failure is ignored, because the status contains the same information.
  [[maybe_unused]] const auto posted = api_.create(kube::kEvents, object);
}

}  // namespace sailor
