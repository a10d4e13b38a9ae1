// Observer: builds the observation of one job from the caches, the polls of agents and the answers of the planner.
#pragma once

#include <functional>
#include <optional>

#include "operator/model/observation.h"
#include "operator/reconcile/observe/caches.h"
#include "operator/reconcile/observe/node_notices.h"

namespace sailor {

// The inputs of an observation other than the objects in the caches.
struct ObserverSources {
  std::function<Result<JobSpec>(const kube::Json&)> read_job;
  std::function<std::shared_ptr<const ProfileBook>()> profiles;
  std::function<std::map<std::string, AgentView>(const JobKey&)> agents;
  std::function<std::vector<PlanAnswer>(const JobKey&)> answers;
  Clock clock = system_time;
};

class Observer {
 public:
  Observer(const Caches& caches, OperatorSettings settings, ObserverSources sources)
      : caches_(caches), settings_(std::move(settings)), sources_(std::move(sources)) {}

  // Returns nothing if the job is gone.
  [[nodiscard]] std::optional<Observation> observe(const JobKey& key) const;
  [[nodiscard]] ClusterView cluster() const;
  // Returns the record of the job with this UID, or an error if it does not exist or cannot be parsed. The operator
  // uses it to decide whether to renew a lease.
  [[nodiscard]] Result<GenerationRecord> record(const JobKey& key, const std::string& job_uid) const;

 private:
  [[nodiscard]] kube::Object record_config_map(const JobKey& key, const std::string& job_uid) const;
  void read_record(Observation& observation) const;

  const Caches& caches_;
  OperatorSettings settings_;
  ObserverSources sources_;
  mutable NodeNotices notices_;
};

}  // namespace sailor
