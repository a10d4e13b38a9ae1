// Rival: another job of the cluster, as far as it matters for which job gets GPUs first.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "core/model/job_spec.h"
#include "operator/kube/object.h"
#include "operator/kube/time.h"
#include "operator/model/cluster_view.h"
#include "operator/model/scheduling_rules.h"

namespace sailor {

// What the PriorityClass of a job says.
struct JobPriority {
  int value = 0;
  bool takes_gpus = true;  // false: its preemptionPolicy is Never
  friend bool operator==(const JobPriority&, const JobPriority&) = default;
};

// Returns the name of a TrainingJob's PriorityClass: that of the spec, or else that of the podTemplate; empty: none.
std::string priority_class_of(const kube::Json& job);

// Returns the priority that a PriorityClass gives.
JobPriority priority_from(const kube::Json& priority_class);

// Which of two jobs gets GPUs first: the one of higher priority, then the older one, then the one whose name is first.
struct JobRank {
  int priority = 0;
  Time created;
  JobKey key;
  friend bool operator==(const JobRank&, const JobRank&) = default;
};
bool comes_before(const JobRank& one, const JobRank& other);

// What a job may use.
struct Demand {
  ResourceSpec resources;
  ElasticityMode elasticity = ElasticityMode::kLive;
  SchedulingRules rules;

  [[nodiscard]] bool may_use(const NodeView& node) const;
  [[nodiscard]] bool may_use_growth(const PoolKey& pool, const Labels& labels_of_new_node) const;
};

enum class RivalState : std::uint8_t {
  kHolds,      // it has GPUs, or its record claims some; or it cannot start whatever is free
  kUndecided,  // it has none, and the planner has not answered whether it can start
  kWaits,      // it has none, because too few are free
};

// Returns the state that the status of a TrainingJob shows, if the job has no GPUs.
RivalState state_without_gpus(const kube::Json& job);

struct Rival {
  std::string uid;
  std::int64_t spec_generation = 0;  // the metadata.generation of the job
  JobRank rank;
  RivalState state = RivalState::kHolds;
  // It is to be planned: it is undecided, or more GPUs are free for it than when it was last decided about.
  bool is_pending = false;
  std::chrono::milliseconds pending_for{0};  // for how long this operator knows that
  std::shared_ptr<const Demand> demand;      // null: its spec cannot be read, or another controller owns it
};

}  // namespace sailor
