// ScheduleTimes: the times from which the order of a step's operations is derived. All workers of a plan use the same
// times: if each worker used its own measurements, their lists of operations would not match and they would deadlock.
// Therefore the planner returns them with the plan, the operator stores them in the generation's record, and every
// worker receives them in its assignment.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/model/plan.h"
#include "core/model/units.h"

namespace sailor {

using Nanoseconds = std::chrono::nanoseconds;

inline Nanoseconds to_nanoseconds(Seconds time) { return Nanoseconds(std::llround(time.value() * 1e9)); }

// The times of one microbatch in one replica of a stage.
struct ReplicaTimes {
  Nanoseconds forward{};
  Nanoseconds backward{};
  int link_class = 0;  // replicas of one class have the same links
  // Most microbatches in flight, at least 1: as many as its memory holds, or fewer.
  int cap = std::numeric_limits<int>::max();
  static constexpr int kNoNic = -1;
  int nic = kNoNic;  // number of its node's NIC, from 0, if several replicas share it and it can limit them
  friend bool operator==(const ReplicaTimes&, const ReplicaTimes&) = default;
};

// The times of one message between neighbouring stages. It queues at its sender, at the NICs of both nodes if replicas
// share them, and at its receiver; it arrives `latency` after that.
struct LinkTimes {
  Nanoseconds latency{};
  Nanoseconds occupancy{};  // how long it occupies its sender and its receiver, each in one direction
  Nanoseconds nic{};        // how long it occupies a shared NIC; at most `occupancy`
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

// Writes equal neighbours once, with their number, because a plan of thousands of replicas has few kinds of them.
nlohmann::json to_json(const ScheduleTimes& times);
// Refuses times that do not match the plan, stage by stage and replica by replica. `path` names the object in errors.
Result<ScheduleTimes> schedule_times_from_json(const nlohmann::json& json, const Plan& plan, const std::string& path);

}  // namespace sailor
