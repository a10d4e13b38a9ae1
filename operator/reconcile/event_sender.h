// EventSender: posts the Kubernetes Events of all jobs, beside the reconciles, so that a slow API server delays none.
// An Event that cannot be posted is lost: the status of the job has the same information.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <tuple>

#include "operator/kube/api.h"
#include "operator/kube/time.h"
#include "operator/reconcile/decide/decision.h"

namespace sailor {

struct JobReference {
  JobKey key;
  std::string uid;
};

class EventSender {
 public:
  // `instance` names this operator's process in the Events.
  EventSender(kube::Api& api, std::string instance, Clock clock = system_time);

  // Takes an event to send. One that repeats the last one of its reason within six minutes becomes a series: the stored
  // Event counts it. A job may have ten other events at once, and one more each minute; further ones are dropped.
  void take(const JobReference& job, const JobEvent& event);
  void run(std::stop_token stop);  // sends what is taken, until a stop
  void flush();                    // sends on the calling thread what was taken so far

 private:
  struct Series {
    std::string note;
    kube::Json object;  // as it was posted
    long count = 1;
    Time newest;
  };
  struct Allowance {
    double events = 0;
    Time counted_at;
  };
  using Kind = std::tuple<std::string, Reason, bool>;  // the UID of the job, the reason, whether it is a warning

  bool is_allowed(const std::string& job_uid, Time now);
  void continue_series(Series& series, Time now);
  void forget_old(Time now);
  [[nodiscard]] kube::Json object_of(const JobReference& job, const JobEvent& event, Time now);

  kube::Api& api_;
  const std::string instance_;
  const Clock clock_;
  std::mutex mutex_;
  std::condition_variable_any taken_;
  std::deque<kube::Json> waiting_;  // those with a series are applied, the others created
  std::map<Kind, Series> series_;
  std::map<std::string, Allowance> allowances_;  // by the UID of the job
  long posted_ = 0;
};

}  // namespace sailor
