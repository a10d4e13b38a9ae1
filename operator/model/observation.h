// Observation: the complete input of one decision about one job. decide() reads nothing else, so a test can construct
// any situation as a value.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/model/profile.h"
#include "core/protocol/agent_report.h"
#include "core/protocol/timeouts.h"
#include "operator/kube/object.h"
#include "operator/model/cluster_view.h"
#include "operator/model/job_status.h"
#include "operator/model/record.h"
#include "planner/planner.h"

namespace sailor {

struct JobView {
  JobKey key;
  std::string uid;
  std::int64_t spec_generation = 0;  // the metadata.generation of the TrainingJob; see record.h
  bool is_deleting = false;
  Time created;
  Result<JobSpec> spec = JobSpec{};
  kube::Json pod_template;  // null: the spec has no podTemplate
  JobStatus status;         // the status that was written last
};

enum class PodPhase { kPending, kRunning, kSucceeded, kFailed };

struct PodView {
  std::string name;
  std::string uid;
  std::string node;  // the node that the pod runs on, or is pinned to while it is unscheduled; empty: any node
  std::string ip;
  PodPhase phase = PodPhase::kPending;
  bool is_deleting = false;
  std::optional<Time> killed_at;                  // if it is being deleted: when its grace period ends
  bool is_ours = true;                            // false: an earlier job of the same name owns the pod
  std::string status_reason;                      // status.reason of the pod: "Evicted", "NodeShutdown" ...
  std::string waiting;                            // a sentence that says why the pod does not start; empty: unknown
  int exit_code = 0;                              // the exit code of the trainer container, once it has ended
  std::optional<AgentReport> termination_report;  // what the agent left when the trainer ended
  std::string termination_message;                // the container's last message, if it left no report
  int gpus = 0;
  PoolKey pool;
  std::int64_t created_for_generation = 0;  // the number of a Generation
  Time created;

  [[nodiscard]] bool has_ended() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }
};

// The results of polling an agent.
struct AgentView {
  std::optional<AgentReport> report;     // the newest report; it stays when later polls fail
  int unanswered_polls = 0;              // the number of consecutive polls that timed out since the newest report
  std::optional<Time> broken_since;      // when a worker was first reported as broken; empty: none is broken
  std::optional<Time> preparing_since;   // when one was first reported as preparing its generation; empty: none is
  std::optional<Time> unanswered_since;  // when the first of these polls timed out

  [[nodiscard]] bool answers() const { return report.has_value() && unanswered_polls == 0; }
};

// A question to the planner. The answer depends on nothing else, so equal questions share an answer.
struct PlanQuestion {
  JobSpec job;
  ClusterState cluster;
  std::optional<Plan> current;
  std::shared_ptr<const ProfileBook> profiles;
  bool is_urgent = false;  // the job does not train meanwhile, so the planner searches only near `current`
  friend bool operator==(const PlanQuestion&, const PlanQuestion&) = default;
};

struct PlanAnswer {
  PlanQuestion question;
  Result<PlannedJob> result;
  Time asked_at;
};

// Options of this operator.
struct OperatorSettings {
  std::string trainer_image;
  std::string callback;  // the URL at which agents reach the operator; empty: they have no way to reach it
  std::chrono::seconds start_limit = std::chrono::minutes(10);  // the time in which a new pod must start
  std::chrono::seconds cool_down{10};  // the least time from a generation to the next voluntary change
  std::chrono::seconds peer_timeout =
      kPeerTimeout;  // workers consider a peer lost once it was unresponsive for this long
};

struct Observation {
  Time now;
  OperatorSettings settings;
  JobView job;
  std::optional<GenerationRecord> record;
  std::string record_version;               // the resourceVersion of the record's ConfigMap; empty: no ConfigMap exists
  std::string record_error;                 // why the ConfigMap cannot be parsed; empty: it can, or does not exist
  std::vector<PodView> pods;                // the pods with the label of this job, in ascending order of names
  std::map<std::string, AgentView> agents;  // by the UID of the pod
  ClusterView cluster;
  std::shared_ptr<const ProfileBook> profiles;
  std::vector<PlanAnswer> answers;  // the planner's newest answers for this job
};

}  // namespace sailor
