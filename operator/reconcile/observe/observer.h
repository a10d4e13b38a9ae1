// Observer: builds the observation of one job from the caches, the polls of agents and the answers of the planner.
#pragma once

#include <functional>
#include <optional>

#include "operator/model/observation.h"
#include "operator/reconcile/observe/caches.h"
#include "operator/reconcile/observe/fleet.h"
#include "operator/reconcile/observe/job_index.h"
#include "operator/reconcile/observe/lease_watch.h"
#include "operator/reconcile/observe/measurements.h"
#include "operator/reconcile/observe/vanished_pods.h"

namespace sailor {

// The inputs of an observation other than the objects in the caches.
struct ObserverSources {
  std::function<Result<JobSpec>(const kube::Json&)> read_job;
  std::function<std::shared_ptr<const ProfileBook>()> profiles;
  std::function<std::map<std::string, AgentView>(const JobKey&)> agents;
  std::function<std::vector<PlanAnswer>(const JobKey&)> answers;
  std::function<std::optional<PodRefusal>(const JobKey&)> refusal;
  std::function<std::optional<Time>(const JobKey&, const std::string& uid)> secured_at;
  std::function<std::optional<TrustChange>()> trust_change;
  // Observation::status_age of the job with this UID.
  std::function<std::chrono::milliseconds(const JobKey&, const std::string& uid, MonotonicTime now)> status_age =
      [](const auto&...) { return Observation().status_age; };
  Clock clock = system_time;
  MonotonicClock monotonic = monotonic_time;
};

class Observer {
 public:
  // Make it before the caches get their objects.
  Observer(Caches& caches, OperatorSettings settings, ObserverSources sources);

  // Returns nothing if the job is gone.
  [[nodiscard]] std::optional<Observation> observe(const JobKey& key) const;
  // Notes that this operator has decided about the observed job. Returns the jobs that have waited for that, if the
  // status of this one does not tell them.
  std::vector<JobKey> note_decided(const Observation& observation) const;
  [[nodiscard]] FleetSnapshot fleet() const { return fleet_.look(sources_.clock(), sources_.monotonic()); }
  [[nodiscard]] std::shared_ptr<const ClusterView> cluster() const { return fleet().cluster; }
  [[nodiscard]] const JobIndex& jobs() const { return jobs_; }
  // Returns the record of the job with this UID, or an error if it does not exist (kNotFound) or cannot be used. The
  // operator also uses it to decide whether to renew a lease.
  [[nodiscard]] Result<GenerationRecord> record(const JobKey& key, const std::string& job_uid) const;

 private:
  // Returns the record that an operator without JobRecords has left; empty: none.
  [[nodiscard]] std::optional<Result<GenerationRecord>> imported_record(const JobKey& key,
                                                                        const std::string& job_uid) const;
  [[nodiscard]] kube::Object plan_map(const JobKey& key) const;
  void read_record(Observation& observation) const;
  void read_plan_map(Observation& observation) const;
  void add_vanished_pods(Observation& observation) const;
  void read_leases(Observation& observation) const;
  void read_queue(Observation& observation, const kube::Json& job) const;
  // Returns the priority of a TrainingJob: that of its PriorityClass, or else that of the cluster's default class.
  [[nodiscard]] JobPriority priority_of(const kube::Json& job) const;

  Caches& caches_;
  OperatorSettings settings_;
  ObserverSources sources_;
  JobIndex jobs_;
  mutable Fleet fleet_;
  mutable LeaseWatch leases_;
  mutable VanishedPods vanished_;
  mutable Measurements measurements_;
};

}  // namespace sailor
