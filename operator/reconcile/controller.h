// Controller: the reconcile loop. It takes a job from the queue, observes it, decides, and applies the decision.
#pragma once

#include <atomic>
#include <functional>
#include <stop_token>

#include "operator/reconcile/applier.h"
#include "operator/reconcile/observe/observer.h"
#include "operator/reconcile/work_queue.h"

namespace sailor {

// One reconcile of one job, for metrics and logs.
struct ReconcileReport {
  JobKey job;
  double seconds = 0;
  std::string failure;  // empty: it succeeded
  bool is_conflict = false;
  const Observation* observation = nullptr;  // nullptr: the job is gone
  const Decision* decision = nullptr;
};

struct ControllerHooks {
  std::function<void(const Observation&)> follow;  // poll the agents of this job from now on
  std::function<void(const JobKey&)> forget;       // a job that is gone
  std::function<void(const ReconcileReport&)> observe = [](const ReconcileReport&) {};
};

class Controller {
 public:
  Controller(const Observer& observer, Applier& applier, WorkQueue& queue, ControllerHooks hooks)
      : observer_(observer), applier_(applier), queue_(queue), hooks_(std::move(hooks)) {}

  void run(std::stop_token stop);
  void reconcile(const JobKey& key);  // an exception counts as a failure of this job only

 private:
  void pass(const JobKey& key, ReconcileReport& report);

  const Observer& observer_;
  Applier& applier_;
  WorkQueue& queue_;
  ControllerHooks hooks_;
};

}  // namespace sailor
