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
#include "operator/model/pool_history.h"
#include "operator/model/record.h"
#include "operator/model/rival.h"
#include "operator/model/scale_up.h"
#include "operator/model/workload.h"
#include "operator/stragglers/job_speeds.h"
#include "planner/planner.h"
#include "planner/replan/change_rules.h"

namespace sailor {

struct JobView {
  JobKey key;
  std::string uid;
  std::string version;               // the resourceVersion
  std::int64_t spec_generation = 0;  // the metadata.generation of the TrainingJob; see record.h
  bool is_deleting = false;
  Time created;
  std::string managed_by;      // spec.managedBy, also of a spec that is invalid; empty: this operator runs the job
  std::string priority_class;  // the name of its PriorityClass; empty: none
  JobPriority priority;
  Result<JobSpec> spec = JobSpec{};
  // Why the spec is invalid, if the job is to be suspended all the same: `spec` is then spec_to_suspend().
  std::string spec_fault;
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
  bool is_deleting = false;         // also if the object is gone
  std::optional<Time> killed_at;    // if it is being deleted: when its grace period ends
  bool is_gone = false;             // the object is gone, but the agent answers with its UID
  bool is_ours = true;              // false: an earlier job of the same name owns the pod
  std::string status_reason;        // status.reason of the pod: "Evicted", "NodeShutdown" ...
  std::string waiting;              // a sentence that says why the pod does not start; empty: unknown
  std::optional<Time> bound_at;     // when the scheduler put it on its node; empty: it has not, or the time is unknown
  std::optional<ScaleUp> scale_up;  // what the autoscaler has said last about a node for it
  int exit_code = 0;                // the exit code of the trainer container, once it has ended
  bool is_ending = false;  // the pod counts as ended because its agent says so; the kubelet has not said so yet
  std::optional<AgentReport> termination_report;  // what the agent left when the trainer ended
  std::string termination_message;                // the container's last message, if it left no report
  int gpus = 0;
  PoolKey pool;
  std::int64_t created_for_generation = 0;  // the number of a Generation
  Time created;

  [[nodiscard]] bool has_ended() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }
};

// No decision distinguishes higher numbers of unanswered polls, so a further one does not queue the job.
inline constexpr int kHighestPollCount = 5;

// The results of polling an agent.
struct AgentView {
  std::optional<AgentReport> report;     // the newest report; it stays when later polls fail
  int unanswered_polls = 0;              // the number of consecutive polls that timed out since the newest report
  std::optional<Time> broken_since;      // when a worker was first reported as broken; empty: none is broken
  std::optional<Time> preparing_since;   // when one was first reported as preparing its generation; empty: none is
  std::optional<Time> unanswered_since;  // when the first of these polls timed out
  std::string tls_fault;                 // why the last poll failed by TLS; empty: it did not, or was answered
  std::string refusal;                   // why the agent refused the newest request; empty: it did not
  MonotonicTime answered_at{};           // when the newest report arrived

  [[nodiscard]] bool answers() const { return report.has_value() && unanswered_polls == 0; }
};

// The newest refusal of the API server to create a pod of the job.
struct PodRefusal {
  std::string pod;
  std::string message;               // the words of the server, and a remedy: one or more sentences
  std::int64_t spec_generation = 0;  // the metadata.generation of the job that the pod was rendered from
  int tries = 0;                     // the number of consecutive refusals
  Time retry_at;

  // Returns whether the operator creates no pod of the job for now. A changed spec is tried at once.
  [[nodiscard]] bool holds(Time now, std::int64_t of_spec_generation) const {
    return now < retry_at && spec_generation == of_spec_generation;
  }
};

// A question to the planner. The answer depends on nothing else, so equal questions share an answer.
struct PlanQuestion {
  JobSpec job;
  ClusterState cluster;
  std::optional<Plan> current;
  std::optional<ClusterState> current_cluster;  // PlanOptions::current_cluster
  std::shared_ptr<const ProfileBook> profiles;
  bool is_urgent = false;  // the job does not train meanwhile, so the planner searches only near `current`
  Seconds lifetime = PlanOptions().expected_lifetime;  // PlanOptions::expected_lifetime
  friend bool operator==(const PlanQuestion&, const PlanQuestion&) = default;
};

struct PlanAnswer {
  PlanQuestion question;
  Result<PlannedJob> result;
  Time asked_at;
  bool is_overtaken = false;  // the job had asked a newer question before the answer came
  bool is_new = false;        // no earlier observation had it
};

// Options of this operator.
struct OperatorSettings {
  std::string trainer_image;
  std::string callback;  // the URL at which agents reach the operator; empty: they have no way to reach it
  std::chrono::seconds start_limit = std::chrono::minutes(10);     // the time in which a new pod must start
  std::chrono::seconds new_node_limit = std::chrono::minutes(10);  // the time in which a new node must come
  std::chrono::seconds cool_down = kCoolDown;  // the least time from a generation to the next voluntary change
  std::chrono::seconds peer_timeout =
      kPeerTimeout;  // workers consider a peer lost once it was unresponsive for this long
  ComputeCapability least_capability = kLeastComputeCapability;  // for which the trainer's image has kernels
  bool isolates_jobs = true;                                     // each job gets a NetworkPolicy
  std::string kueue_version;  // of Kueue's API, such as "v1beta1"; empty: the operator does not use Kueue
};

// The ConfigMap that shows the newest plan to people.
struct PlanMapView {
  bool is_ours = true;          // false: another object owns it, or none does
  std::int64_t generation = 0;  // whose plan it shows
};

// A change of the CAs that the operator trusts, which jobs that run are to trust too.
struct TrustChange {
  Time at;
  // Agents of a job may not trust the newest CA yet, so what they show to each other stays for now.
  bool keeps_certificates = false;
};

struct Observation {
  Time now;
  MonotonicTime monotonic_now{};
  OperatorSettings settings;
  JobView job;
  std::optional<GenerationRecord> record;
  bool is_record_imported =
      false;                 // an operator without JobRecords has left the record, and no JobRecord stores it yet
  std::string record_error;  // why the JobRecord cannot be used; empty: it can, or does not exist
  // For how long this operator has known that the lease of an older generation is not renewed
  // (OlderRecord::is_unrenewed), by the number of the generation.
  std::map<std::int64_t, std::chrono::milliseconds> unrenewed_for;
  // For how long it has known that a newer generation has claimed the checkpoint folder.
  std::map<std::int64_t, std::chrono::milliseconds> claimed_for;
  std::optional<PlanMapView> plan_map;      // empty: no such ConfigMap exists
  std::vector<PodView> pods;                // the pods with the label of this job, in ascending order of names
  std::vector<Member> vanished;             // the members whose pod objects are gone; their agents are still polled
  std::map<std::string, AgentView> agents;  // by the UID of the pod
  // For how long the status is as it is, as far as this operator knows.
  std::chrono::milliseconds status_age = std::chrono::hours(1);
  std::optional<Time> secured_at;           // when this operator last wrote the credentials of the job; empty: never
  std::optional<TrustChange> trust_change;  // the newest one; empty: there was none
  std::optional<PodRefusal> refusal;        // empty: the API server has accepted the newest pod
  std::shared_ptr<const ClusterView> cluster = std::make_shared<const ClusterView>();        // shared with other jobs
  std::shared_ptr<const PoolHistories> histories = std::make_shared<const PoolHistories>();  // shared, too
  std::optional<QueueView> queue;                                           // empty: the job is in no queue of Kueue
  std::shared_ptr<const Rivals> rivals = std::make_shared<const Rivals>();  // shared, too; this job is one of them
  std::shared_ptr<const ProfileBook> profiles;
  std::vector<PlanAnswer> answers;         // the planner's newest answers for this job
  std::map<GpuName, GpuSpeed> gpu_speeds;  // as the workers' reports show; Measurements sets it
  // How long a step takes at present, by measurement, in units of the planner's estimates; empty: unknown.
  std::optional<double> present_step_seconds;
};

}  // namespace sailor
