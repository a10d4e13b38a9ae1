// Observation: all that one decision about one job is made from. A value: it can be built by hand, printed, compared.
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
  std::string node;  // that it runs on, or is pinned to while it waits for the scheduler; empty: any of its pool
  std::string ip;
  PodPhase phase = PodPhase::kPending;
  bool is_deleting = false;
  bool is_ours = true;                            // controlled by this very job, not by one of the same name before it
  std::string status_reason;                      // of the pod: "Evicted", "NodeShutdown" ...; empty: none
  std::string waiting;                            // why it does not start yet, a sentence; empty: no reason is known
  int exit_code = 0;                              // of the trainer, once it has ended
  std::optional<AgentReport> termination_report;  // that it left behind when it ended
  std::string termination_message;                // what it left behind where that is no report
  int gpus = 0;
  PoolKey pool;
  std::int64_t created_for_generation = 0;  // generation
  Time created;

  [[nodiscard]] bool has_ended() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }
};

// What polls of an agent have shown.
struct AgentView {
  std::optional<AgentReport> report;     // the newest
  int unanswered_polls = 0;              // polls without an answer since then
  std::optional<Time> broken_since;      // since when a worker of it has been broken
  std::optional<Time> unanswered_since;  // when the first poll without an answer since then was noticed

  [[nodiscard]] bool answers() const { return report.has_value() && unanswered_polls == 0; }
};

// What the planner is asked. Equal questions have equal answers.
struct PlanQuestion {
  JobSpec job;
  ClusterState cluster;
  std::optional<Plan> current;
  std::shared_ptr<const ProfileBook> profiles;
  bool is_urgent = false;  // the job stands still: what is near `current` will do
  friend bool operator==(const PlanQuestion&, const PlanQuestion&) = default;
};

struct PlanAnswer {
  PlanQuestion question;
  Result<PlannedJob> result;
  Time asked_at;
};

// How this operator was started.
struct OperatorSettings {
  std::string trainer_image;
  std::string callback;                                         // URL at which agents reach us; empty: they do not
  std::chrono::seconds start_limit = std::chrono::minutes(10);  // for a new pod to start and take part
  std::chrono::seconds cool_down{10};                           // from one generation to the next voluntary change
  std::chrono::seconds peer_timeout = kPeerTimeout;             // of a worker's silence, to its peers
};

struct Observation {
  Time now;
  OperatorSettings settings;
  JobView job;
  std::optional<GenerationRecord> record;
  std::string record_version;               // of the ConfigMap; empty: there is none
  std::string record_error;                 // why the ConfigMap that there is cannot be used; empty: it can
  std::vector<PodView> pods;                // of this job, ascending name
  std::map<std::string, AgentView> agents;  // by the pod's UID
  ClusterView cluster;
  std::shared_ptr<const ProfileBook> profiles;
  std::vector<PlanAnswer> answers;  // what the planner has found for this job
};

}  // namespace sailor
