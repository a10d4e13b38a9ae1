// Decision: what the operator does about one job now, in this order, and the job's status afterwards. A value.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "operator/model/job_status.h"
#include "operator/model/observation.h"

namespace sailor {

struct WriteRecord {
  GenerationRecord record;
};
struct CreatePod {
  kube::Json pod;
};
struct DeletePod {
  std::string name;
  std::string uid;
};
struct SendAssignment {
  std::string pod_uid;
  AgentAddress agent;
  std::shared_ptr<const Assignment> assignment;
};
struct UpdateCallback {  // the agent sends its hints to another address
  std::string pod_uid;
};
struct AskPlanner {
  PlanQuestion question;
};
struct DeleteJob {};

using Action = std::variant<WriteRecord, CreatePod, DeletePod, SendAssignment, UpdateCallback, AskPlanner, DeleteJob>;

struct EventNote {
  bool is_warning = false;
  Reason reason = Reason::kNotYetKnown;
  std::string message;
  friend bool operator==(const EventNote&, const EventNote&) = default;
};

struct Decision {
  std::vector<Action> actions;
  std::optional<JobStatus> status;  // empty: the status is up to date
  std::vector<EventNote> events;
  std::optional<std::chrono::milliseconds> requeue_after;
};

}  // namespace sailor
