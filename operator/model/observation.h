// Observation: everything that one decision about one job depends on. It is a value: a test can build it by hand.
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
  std::int64_t generation = 0;  // of metadata
  bool is_deleting = false;
  Time created;
  Result<JobSpec> spec = JobSpec{};
  kube::Json pod_template;  // null: none
  JobStatus status;         // as it was written last
};

enum class PodPhase { kPending, kRunning, kSucceeded, kFailed };

struct PodView {
  std::string name;
  std::string uid;
  std::string node;  // the node that it runs on, or is pinned to while it waits for the scheduler; empty: any
  std::string ip;
  PodPhase phase = PodPhase::kPending;
  bool is_deleting = false;
  bool is_ours = true;                            // this job controls it, not an earlier job of the same name
  std::string status_reason;                      // of the pod: "Evicted", "NodeShutdown" ...; empty: none
  std::string waiting;                            // why it does not start yet, a sentence; empty: not known
  int exit_code = 0;                              // of the trainer, once the pod has ended
  std::optional<AgentReport> termination_report;  // written when the trainer ended
  std::string termination_message;                // what the trainer wrote instead of a report
  int gpus = 0;
  PoolKey pool;
  std::int64_t created_for_generation = 0;  // generation
  Time created;

  [[nodiscard]] bool has_ended() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }
};

// What polls of an agent have shown. A poll fails if it gets no answer in time.
struct AgentView {
  std::optional<AgentReport> report;     // the newest
  int unanswered_polls = 0;              // since the newest report
  std::optional<Time> broken_since;      // since when one of its workers has been broken
  std::optional<Time> unanswered_since;  // when the first of the unanswered polls was noticed

  [[nodiscard]] bool answers() const { return report.has_value() && unanswered_polls == 0; }
};

// A question to the planner. Equal questions have equal answers.
struct PlanQuestion {
  JobSpec job;
  ClusterState cluster;
  std::optional<Plan> current;
  std::shared_ptr<const ProfileBook> profiles;
  bool is_urgent = false;  // the job does not train: search only near `current`
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
  std::string callback;  // URL at which agents reach the operator; empty: they do not
  std::chrono::seconds start_limit = std::chrono::minutes(10);  // for a new pod to start and take part
  std::chrono::seconds cool_down{10};                           // from one generation to the next voluntary change
  std::chrono::seconds peer_timeout = kPeerTimeout;  // after which peers count an unresponsive worker as lost
};

struct Observation {
  Time now;
  OperatorSettings settings;
  JobView job;
  std::optional<GenerationRecord> record;
  std::string record_version;               // resourceVersion of the ConfigMap; empty: there is none
  std::string record_error;                 // why the ConfigMap cannot be used; empty: it can
  std::vector<PodView> pods;                // of this job, ascending name
  std::map<std::string, AgentView> agents;  // by the pod's UID
  ClusterView cluster;
  std::shared_ptr<const ProfileBook> profiles;
  std::vector<PlanAnswer> answers;  // the planner's newest answers for this job
};

}  // namespace sailor
