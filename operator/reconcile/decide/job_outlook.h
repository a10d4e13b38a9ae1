// JobOutlook: what a job that looks ahead expects of its nodes, by the histories of the pools that it may use.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "operator/model/observation.h"
#include "planner/replan/outlook.h"

namespace sailor {

class JobOutlook {
 public:
  // Returns nothing if the job does not look ahead (planner/replan/look_ahead.h).
  static std::optional<JobOutlook> of(const Observation& observation);

  // The expected time until a plan with these GPUs loses nodes, or nodes join.
  [[nodiscard]] Seconds time_until_change(const std::map<PoolKey, int>& gpus) const;

  // How often per hour such a plan loses nodes whose state is not saved.
  [[nodiscard]] double failures_per_hour(const std::map<PoolKey, int>& gpus) const;

 private:
  JobOutlook() = default;
  [[nodiscard]] std::vector<int> in_order(const std::map<PoolKey, int>& gpus) const;

  std::vector<PoolKey> keys_;
  std::vector<PoolOutlook> pools_;  // one for each key
  DropOutcomes outcomes_;
};

// Counts the losses of nodes among the newest rescales of the job. The state counts as saved if a loss cost at most the
// step in flight.
DropOutcomes drop_outcomes(const std::vector<RescaleStatus>& rescales);

}  // namespace sailor
