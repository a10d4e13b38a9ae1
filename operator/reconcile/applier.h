// Applier: carries out a decision. It writes to the API server, and sends messages to the agents and questions to the
// planner.
#pragma once

#include <functional>
#include <memory>

#include "operator/kube/api.h"
#include "operator/reconcile/decide/decision.h"
#include "operator/reconcile/observe/caches.h"

namespace sailor {

struct ApplierSinks {
  std::function<void(const JobKey&, const SendAssignment&)> send;
  std::function<void(const PlanQuestion&)> ask;
  std::function<void(const JobKey&, const UpdateCallback&)> update_callback;
};

class Applier {
 public:
  // `instance` names this operator's process in events. The applier also puts the objects that it writes into the
  // caches, so that the next observation contains them even if the watch is late.
  Applier(kube::Api& api, Caches& caches, ApplierSinks sinks, std::string instance)
      : api_(api), caches_(caches), sinks_(std::move(sinks)), instance_(std::move(instance)) {}

  // Performs the actions in order, then writes the status, then posts the events. Returns the first error and skips
  // what follows it. A failure to post an event is ignored.
  [[nodiscard]] kube::ApiResult<void> apply(const Observation& observation, const Decision& decision);

 private:
  kube::ApiResult<void> perform(const Observation& observation, const Action& action);
  kube::ApiResult<void> write_record(const Observation& observation, const GenerationRecord& record);
  kube::ApiResult<void> create_pod(const kube::Json& pod);
  kube::ApiResult<void> delete_pod(const Observation& observation, const DeletePod& pod);
  kube::ApiResult<void> write_status(const Observation& observation, const JobStatus& status);
  void post_event(const Observation& observation, const JobEvent& event);

  kube::Api& api_;
  Caches& caches_;
  ApplierSinks sinks_;
  std::string instance_;
  long events_ = 0;
};

}  // namespace sailor
