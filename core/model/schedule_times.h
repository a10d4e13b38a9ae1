// ScheduleTimes: what the order of a step's operations is made from. Part of a plan's context and equal for all its
// workers: with times that each worker measured for itself, their lists would not match and they would wait for each
// other for ever. So they travel from the planner's answer through the generation's record to every worker.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/model/plan.h"

namespace sailor {

using Nanoseconds = std::chrono::nanoseconds;

// One microbatch through one replica of a stage.
struct ReplicaTimes {
  Nanoseconds forward{};
  Nanoseconds backward{};
  int link_class = 0;                         // replicas of one class have the same links
  int cap = std::numeric_limits<int>::max();  // on microbatches in flight, at least 1: what its memory holds, or fewer
  static constexpr int kNoNic = -1;
  int nic = kNoNic;  // of its node, from 0, where replicas share one that limits them
  friend bool operator==(const ReplicaTimes&, const ReplicaTimes&) = default;
};

// One message between neighbouring stages: it takes its turn at its sender, at the network cards of both nodes where
// replicas share them, and at its receiver, whom it reaches `latency` after that.
struct LinkTimes {
  Nanoseconds latency{};
  Nanoseconds occupancy{};  // of sender and receiver, each in one direction
  Nanoseconds nic{};        // of a shared card, which is no slower than one message
  friend bool operator==(const LinkTimes&, const LinkTimes&) = default;
};

struct ScheduleTimes {
  std::vector<std::vector<ReplicaTimes>> replicas;  // [stage][replica], as in the plan
  int link_classes = 1;
  std::vector<std::vector<LinkTimes>> links;  // [boundary after stage i][from class * link_classes + to class]
  friend bool operator==(const ScheduleTimes&, const ScheduleTimes&) = default;

  [[nodiscard]] const LinkTimes& link(int boundary, int from_class, int to_class) const {
    return links[static_cast<std::size_t>(boundary)][static_cast<std::size_t>(from_class * link_classes + to_class)];
  }
};

// Equal neighbours are written once, with their number: a plan of thousands of replicas has few kinds of them.
nlohmann::json to_json(const ScheduleTimes& times);
// Refuses what does not fit the plan, stage by stage and replica by replica. `path` is named in the error.
Result<ScheduleTimes> schedule_times_from_json(const nlohmann::json& json, const Plan& plan, const std::string& path);

}  // namespace sailor
