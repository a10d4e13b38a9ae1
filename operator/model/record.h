// GenerationRecord: the truth about a job's newest generation, kept in a ConfigMap that the job owns.
// The operator writes it twice before any agent learns of the generation: first with the placement, then, when all pods
// answer, with their addresses (the membership is then committed). Every assignment follows from a committed record,
// whoever computes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/estimate.h"
#include "core/model/plan.h"
#include "core/protocol/assignment.h"
#include "operator/kube/object.h"
#include "operator/kube/time.h"
#include "operator/model/reason.h"

namespace sailor {

// What the status says about an estimate.
struct PlanSummary {
  double iteration_seconds = 0;
  double tokens_per_second = 0;
  double gpu_cost_per_iteration = 0;
  double traffic_cost_per_iteration = 0;
  double cost_per_hour = 0;
  double bound_ratio = 0;
  friend bool operator==(const PlanSummary&, const PlanSummary&) = default;

  [[nodiscard]] double cost_per_iteration() const { return gpu_cost_per_iteration + traffic_cost_per_iteration; }
};

// One pod of a placement.
struct Slot {
  std::string pod;
  PoolKey pool;
  std::string node;      // empty: any node of the pool that the scheduler finds or the autoscaler creates
  std::string node_uid;  // a preempted node may come back under its name
  int gpus = 0;
  friend bool operator==(const Slot&, const Slot&) = default;
};

// Where a replica of a stage runs: on `tensor_parallel` GPUs of one slot.
struct ReplicaPlacement {
  int stage = 0;
  int replica = 0;
  int slot = 0;
  int first_gpu = 0;
  friend bool operator==(const ReplicaPlacement&, const ReplicaPlacement&) = default;
};

struct Placement {
  std::vector<Slot> slots;
  std::vector<ReplicaPlacement> replicas;  // ordered by stage, replica
  friend bool operator==(const Placement&, const Placement&) = default;
};

// A pod that takes part in a committed generation: the pods of the placement in its order, then the pods that leave.
struct Member {
  AgentAddress address;
  std::string pod_uid;
  std::string node;
  std::string node_uid;
  bool leaves = false;
  friend bool operator==(const Member&, const Member&) = default;
};

// A node that is not used before it shows a heartbeat newer than `since` (its agent was unresponsive while a peer was
// broken), and not before `until` (its pod did not start, or failed, or a path to it is broken).
struct QuarantinedNode {
  std::string node_uid;
  Time since;
  Time until;
  std::chrono::seconds duration{0};  // of the quarantine for a broken path; the node is remembered for as long after it
  friend bool operator==(const QuarantinedNode&, const QuarantinedNode&) = default;
};

// One numbered plan of a job, and its placement.
struct Generation {
  std::int64_t generation = 0;
  Plan plan;  // if it releases the GPUs: the plan before, which says what the state consists of
  // Every worker derives the schedule from these times. They stay the same whatever profiles say later. Absent in
  // records of older operators.
  std::optional<ScheduleTimes> schedule_times;
  PlanSummary summary;
  Placement placement;
  std::vector<Member> members;  // empty: not committed yet, or it releases the GPUs and nobody holds state
  int rendezvous = 0;           // index into members
  bool releases_gpus = false;   // nobody trains: the workers save the state, then all pods are removed
  bool is_leased = false;       // one pod has all its roles, and trains only while its lease is renewed

  Reason reason = Reason::kStarted;  // why this generation was made
  std::string message;
  Time caused_at;                    // when the first sign of the cause was observed
  Time asked_at;                     // when the planner was asked; equals `decided_at` if it was not
  Time decided_at;                   // when this generation was made
  Time committed_at;                 // when all its pods answered
  std::int64_t from_generation = 0;  // 0: none
  int from_gpus = 0;

  friend bool operator==(const Generation&, const Generation&) = default;

  [[nodiscard]] bool is_committed() const { return !members.empty(); }
};

// The generation releases the GPUs until the user resumes the job, or the cluster has capacity; it is not only the
// first half of a restart.
bool waits_until_wanted(const Generation& generation);

// A generation before the newest that may still train somewhere (operator/protocol/fencing.h).
struct OlderRecord {
  std::int64_t generation = 0;
  bool is_leased = false;
  Time unrenewed_since;         // since when its lease is certainly not renewed; Time(): not known yet
  std::vector<Member> members;  // with a role
  friend bool operator==(const OlderRecord&, const OlderRecord&) = default;
};

struct GenerationRecord : Generation {  // the newest
  std::string job_uid;
  std::int64_t job_generation = 0;      // metadata.generation of the spec that was planned
  std::int64_t min_pod_generation = 0;  // pods created for an earlier generation are replaced
  std::int64_t last_issued = 0;         // the highest number that a generation was given, withdrawn ones included
  // The generation that trains on while the newest, which is not committed yet, waits for its new pods. It becomes the
  // newest again if that one is withdrawn. Only a generation that nobody was notified of can be withdrawn.
  std::optional<Generation> running;
  std::vector<OlderRecord> older;  // ascending generation
  // By UID of the pod: the newest generation that its agent may have been notified of.
  std::map<std::string, std::int64_t> notified;

  int restarts = 0;                       // failures of the trainer
  std::string last_failure;               // what the trainer said of the last one
  std::int64_t unresponsive_at_step = 0;  // the highest step at which an unresponsive worker was killed
  Time not_before;                        // of new pods, after a failure
  std::vector<QuarantinedNode> quarantined_nodes;
  std::set<std::string>
      unreachable_pods;  // UIDs of pods that answer the operator, but not all peers: they take no part

  friend bool operator==(const GenerationRecord&, const GenerationRecord&) = default;
};

PlanSummary summary_of(const Estimate& estimate, double bound_ratio);

kube::Json to_json(const GenerationRecord& record);
Result<GenerationRecord> record_from_json(const kube::Json& json);

// The ConfigMap; `version` is the resourceVersion that it must still have ("": it must not exist yet).
kube::Json config_map_of(const GenerationRecord& record, const JobKey& job, const std::string& version);
Result<GenerationRecord> record_of(const kube::Json& config_map);

// What every agent of a committed generation is told.
Assignment assignment_of(const GenerationRecord& record, const JobSpec& job, const std::string& callback);

}  // namespace sailor
