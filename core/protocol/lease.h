// Leases: a generation whose roles are all in one pod votes without any other pod. Cut off from the cluster, it would
// train on while the operator starts another generation. So it applies an update only while it has a lease. Its agent
// asks the operator for it, and the lease counts from the question.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "core/model/error.h"
#include "core/model/ids.h"

namespace sailor {

// A lease lasts this long, counted from the question. It is longer than a change of the leading operator takes.
inline constexpr std::chrono::seconds kLeaseLength{25};

// An agent asks this many times while one lease lasts, so that a few lost answers do not stop the training.
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
