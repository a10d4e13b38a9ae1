// Rival: a job of the cluster, as far as it matters for which job gets GPUs first.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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
  friend bool operator==(const Demand&, const Demand&) = default;

  [[nodiscard]] bool may_use(const NodeView& node) const;
  [[nodiscard]] bool may_use_growth(const PoolKey& pool, const Labels& labels_of_new_node) const;
};

// Returns false only if no pool is allowed by both.
bool may_share_a_pool(const ResourceSpec& one, const ResourceSpec& other);

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
  std::optional<MonotonicTime> pending_since;  // since when this operator knows that
  // Equal demands are one object. Null: its spec cannot be read, or another controller owns it.
  std::shared_ptr<const Demand> demand;
  friend bool operator==(const Rival&, const Rival&) = default;
};

// The jobs of the cluster that may use GPUs: they have not ended, are not suspended and are not being deleted.
// Observations share it.
class Rivals {
 public:
  using InOrder = std::vector<std::shared_ptr<const Rival>>;  // the one that comes first of all jobs first

  Rivals() = default;
  explicit Rivals(InOrder all);
  Rivals(const Rivals&) = delete;  // find() returns pointers into it
  Rivals& operator=(const Rivals&) = delete;

  [[nodiscard]] const InOrder& all() const { return all_; }
  [[nodiscard]] const std::vector<const Rival*>& without_gpus() const { return without_gpus_; }  // in the same order
  [[nodiscard]] const Rival* find(std::string_view uid) const;  // null: no such job may use GPUs

 private:
  InOrder all_;
  std::vector<const Rival*> without_gpus_;
  std::unordered_map<std::string_view, const Rival*> by_uid_;
};

}  // namespace sailor
