// Applier: carries out a decision. It writes to the API server, and hands out messages to the agents, questions to the
// planner and events.
#pragma once

#include <functional>
#include <memory>

#include "core/net/tls_settings.h"
#include "operator/kube/api.h"
#include "operator/reconcile/decide/decision.h"
#include "operator/reconcile/event_sender.h"
#include "operator/reconcile/job_times.h"
#include "operator/reconcile/observe/caches.h"
#include "operator/reconcile/pod_refusals.h"

namespace sailor {

struct ApplierSinks {
  std::function<void(const JobKey&, const SendAssignment&)> send;
  std::function<void(const PlanQuestion&)> ask;
  std::function<void(const JobKey&)> ask_nothing = [](const JobKey&) {};  // called for a decision without a question
  std::function<void(const JobKey&, const UpdateCallback&)> update_callback;
  std::function<void(const JobReference&, const JobEvent&)> post;     // must not wait for the API server
  std::function<void(const JobKey&)> refused = [](const JobKey&) {};  // called when a pod was refused, to queue the job
  std::function<void(const JobKey&, const ClaimFolder&)> claim_folder;
  std::function<net::TlsSettings(const JobKey&)> issue_credentials;
  std::function<void(const JobReference&)> wrote_status = [](const JobReference&) {};
};

class Applier {
 public:
  // The applier also puts the objects that it writes into the caches, so that the next observation contains them even
  // if the watch is late. It notes in `refusals` which pod the API server has refused, and in `secured_jobs` when it
  // wrote credentials.
  Applier(kube::Api& api, Caches& caches, PodRefusals& refusals, SecuredJobs& secured_jobs, ApplierSinks sinks)
      : api_(api), caches_(caches), refusals_(refusals), secured_jobs_(secured_jobs), sinks_(std::move(sinks)) {}

  // Performs the actions in order, then writes the status, then hands out the events. Returns the first error and skips
  // what follows it. A pod that the API server refuses is not an error; the other pods of the decision are then not
  // created, because all are needed together.
  // Calls `records_written` once all records of the decision are written, because the GPUs that they claim are then
  // known to later observations; at once if it writes none, and not at all if a write fails. Any thread may call
  // apply(), but no two threads for the same job.
  [[nodiscard]] kube::ApiResult<void> apply(
      const Observation& observation, const Decision& decision, const std::function<void()>& records_written = [] {});

 private:
  using Write = kube::ApiResult<kube::Json> (kube::Api::*)(const kube::Resource&, const kube::Json&);

  kube::ApiResult<void> perform(const Observation& observation, const Action& action);
  kube::ApiResult<void> write_record(const Observation& observation, const GenerationRecord& record);
  kube::ApiResult<void> publish_plan(const kube::Json& plan_map);
  kube::ApiResult<void> secure(const Observation& observation, const SecureJob& action);
  kube::ApiResult<void> create_pod(const Observation& observation, const kube::Json& pod);
  kube::ApiResult<void> accept_existing(const Observation& observation, const JobKey& pod);
  void note_refusal(const Observation& observation, const std::string& pod, const std::string& message);
  kube::ApiResult<void> delete_pod(const Observation& observation, const DeletePod& pod);
  // If the API server refuses the Workload, also posts an event about it.
  kube::ApiResult<void> write_workload(const Observation& observation, const kube::Json& workload, Write write);
  kube::ApiResult<void> write_status(const Observation& observation, const JobStatus& status);

  kube::Api& api_;
  Caches& caches_;
  PodRefusals& refusals_;
  SecuredJobs& secured_jobs_;
  ApplierSinks sinks_;
};

}  // namespace sailor
