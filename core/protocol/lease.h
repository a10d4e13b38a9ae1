// Leases: they protect a generation whose workers are all in one pod. Such a generation votes without any other pod. If
// it were cut off from the cluster, it would continue to train while the operator starts another generation. It
// therefore applies an update only while it has a lease. Its agent asks the operator to renew the lease. A lease begins
// when the agent asks, not when the operator answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "core/model/error.h"
#include "core/model/ids.h"

namespace sailor {

// The length of a lease, counted from the question. It is longer than the operator takes to elect a new leader.
inline constexpr std::chrono::seconds kLeaseLength{25};

// How often an agent asks during one lease. A few lost answers therefore do not stop the training.
inline constexpr int kQuestionsPerLease = 5;

struct LeaseQuestion {
  JobKey job;
  std::string job_uid;
  std::int64_t generation = 0;
  friend bool operator==(const LeaseQuestion&, const LeaseQuestion&) = default;
};

nlohmann::json to_json(const LeaseQuestion& question);
Result<LeaseQuestion> lease_question_from_json(const nlohmann::json& json);

}  // namespace sailor
