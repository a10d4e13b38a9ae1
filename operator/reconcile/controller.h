// Controller: reconciles a job. It observes the job, decides, and applies the decision. If this fails, it queues the
// job again with a back-off. OperatorRuntime calls reconcile() for each job that it takes from the queue, on several
// threads.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <stop_token>

#include "operator/reconcile/applier.h"
#include "operator/reconcile/leftovers.h"
#include "operator/reconcile/observe/observer.h"
#include "operator/reconcile/work_queue.h"

namespace sailor {

// The outcome of one reconcile, for metrics and logs.
struct ReconcileReport {
  JobKey job;
  double seconds = 0;
  std::string failure;                       // empty: the reconcile succeeded
  std::chrono::milliseconds retry_after{0};  // after a failure: the least time that the API server asks to wait
  std::vector<std::string> leftovers;        // that were deleted (leftovers.h)
  bool is_conflict = false;                  // another process has written an object meanwhile: expected now and then
  const Observation* observation = nullptr;  // null: the job is gone, or an exception was thrown
  const Decision* decision = nullptr;        // null if `observation` is null
};

struct ControllerHooks {
  std::function<void(const Observation&)> follow;  // called before each decision, to poll the agents of the job
  std::function<void(const JobKey&)> forget;       // called when the job is gone
  // Called before and after the wait for reconciles of other jobs, in which a thread does nothing but is not stuck.
  std::function<void()> waits = [] {};
  std::function<void()> goes_on = [] {};
  // Called after each reconcile, for metrics and logs.
  std::function<void(const ReconcileReport&)> reconciled = [](const ReconcileReport&) {};
};

class Controller {
 public:
  Controller(Leftovers& leftovers, const Observer& observer, Applier& applier, WorkQueue& queue, ControllerHooks hooks)
      : leftovers_(leftovers), observer_(observer), applier_(applier), queue_(queue), hooks_(std::move(hooks)) {}

  // An exception counts as a failure of this job only. Any thread may call it, but no two threads for the same job.
  void reconcile(const JobKey& key);

 private:
  void reconcile_once(const JobKey& key, ReconcileReport& report);

  Leftovers& leftovers_;
  const Observer& observer_;
  Applier& applier_;
  WorkQueue& queue_;
  ControllerHooks hooks_;
  // Held from an observation until the records of its decision are written: a record claims GPUs, so the next decision
  // must see it. Other writes of one job do not concern the others.
  std::mutex claiming_;
};

}  // namespace sailor
