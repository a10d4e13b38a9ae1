// Decision: what is to be done about one job now, in this order; then its status. A value.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

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
struct UpdateCallback {  // to an agent that sends its hints elsewhere
  std::string pod_uid;
};
struct AskPlanner {
  PlanQuestion question;
};
struct DeleteJob {};

using Action = std::variant<WriteRecord, CreatePod, DeletePod, SendAssignment, UpdateCallback, AskPlanner, DeleteJob>;

struct EventNote {
  bool is_warning = false;
  std::string reason;
  std::string message;
  friend bool operator==(const EventNote&, const EventNote&) = default;
};

struct Decision {
  std::vector<Action> actions;
  std::optional<kube::Json> status;  // absent: it says already what it should
  std::vector<EventNote> events;
  std::optional<std::chrono::milliseconds> requeue_after;
};

Decision decide(const Observation& observation);

// Whether a TrainingJob has a use for its agents, and for the state that they hold: not if it is suspended (once its
// state is saved), has ended, or is being deleted.
bool needs_agents(const kube::Json& job);

}  // namespace sailor
