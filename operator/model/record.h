// GenerationRecord: everything that the operator must remember about a job. It is stored in a JobRecord that the job
// owns (record_object.h), so an operator that restarts continues from it.
//
// A generation is one numbered plan of a job, with its placement. Kubernetes calls another number a generation:
// metadata.generation of the TrainingJob, which the API server increases with each change of the spec. The operator's
// code calls that number `spec_generation`; a name that says only `generation` never means it.
//
// The operator writes the record twice before it notifies any agent of a new generation. The first write contains the
// placement; from it the pods are created. The second write commits the membership: once all pods answer, it adds their
// addresses. The assignment that agents receive is a pure function of a committed record and the job, so a new operator
// computes the same one.
#pragma once

#include <algorithm>
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
#include "operator/model/pool_refusal.h"
#include "operator/model/reason.h"
#include "operator/model/run_settings.h"

namespace sailor {

// A plan that the planner found beside the chosen one, for the same cluster.
struct AlternativePlan {
  double iteration_seconds = 0;
  double cost_per_iteration = 0;  // dollars
  int gpus = 0;
  friend bool operator==(const AlternativePlan&, const AlternativePlan&) = default;
};

// The part of the planner's answer that the status, the pages and the metrics show. Costs are in dollars.
struct PlanSummary {
  double iteration_seconds = 0;
  double tokens_per_second = 0;
  double gpu_cost_per_iteration = 0;
  double traffic_cost_per_iteration = 0;
  double cost_per_hour = 0;
  double bound_ratio = 0;                          // PlannedJob::bound_ratio(); 0: no bound is proved
  double failures_per_hour = 0;                    // ExpectedLoss::failures_per_hour
  std::vector<AlternativePlan> alternatives = {};  // some of them, the fastest first; "others" in JSON
  friend bool operator==(const PlanSummary&, const PlanSummary&) = default;

  [[nodiscard]] double cost_per_iteration() const { return gpu_cost_per_iteration + traffic_cost_per_iteration; }
};

// One pod of a placement, which may not exist yet.
struct Slot {
  std::string pod;
  PoolKey pool;
  std::string node;      // empty: any node of the pool, which the scheduler finds or the autoscaler creates
  std::string node_uid;  // distinguishes a node from a later node of the same name
  int gpus = 0;
  // The GPUs of the pod in the order in which replicas take them, if some of them are slow: GPUs of one speed are then
  // neighbours. Empty: 0, 1, 2 and so on.
  std::vector<int> gpu_order = {};
  friend bool operator==(const Slot&, const Slot&) = default;

  // Returns the GPU of the pod at this place of the order.
  [[nodiscard]] int gpu_at(int place) const {
    return gpu_order.empty() ? place : gpu_order.at(static_cast<std::size_t>(place));
  }
};

// Where a replica of a stage runs: on `tensor_parallel` GPUs of one slot that are neighbours in its order.
struct ReplicaPlacement {
  int stage = 0;
  int replica = 0;
  int slot = 0;       // an index into Placement::slots
  int first_gpu = 0;  // a place in Slot::gpu_order
  friend bool operator==(const ReplicaPlacement&, const ReplicaPlacement&) = default;
};

struct Placement {
  std::vector<Slot> slots;
  std::vector<ReplicaPlacement> replicas;  // in ascending order of stage, then of replica
  friend bool operator==(const Placement&, const Placement&) = default;
};

// A pod that takes part in a committed generation. A pod without a slot in the new placement leaves: it takes part only
// until it has sent its state to the pods that stay.
struct Member {
  AgentAddress address;
  std::string pod_uid;
  std::string node;
  std::string node_uid;
  bool leaves = false;
  friend bool operator==(const Member&, const Member&) = default;
};

// A node that the job does not use for a while. `since` is set if the pod on the node was unresponsive: the node is
// then not used until it shows a newer heartbeat or 60 seconds have passed. `until` is set if the pod did not start,
// failed, or could not reach its peers: the node is then not used before that time.
struct QuarantinedNode {
  std::string node_uid;
  Time since;
  Time until;
  std::chrono::seconds duration{0};  // the length of a quarantine for a broken path; see is_remembered()
  friend bool operator==(const QuarantinedNode&, const QuarantinedNode&) = default;
};

// A GPU whose passes take longer than those of others of its type. The entry stays for a while after the GPU has
// recovered, because one that gets slow again and again is trusted later each time (decide/slow_gpus.h).
struct SlowGpu {
  std::string node_uid;
  int gpu = 0;                       // its index in the pod on the node
  double slowdown = 1;               // the time of a pass over its usual time; 1: the GPU has recovered
  Time since;                        // when it got so slow, or recovered
  Time slow_until;                   // the GPU counts as slow at least until then, whatever is measured
  std::chrono::seconds distrust{0};  // how long `slow_until` was after the GPU got slow the last time
  double usual_probe_seconds = 0;    // the time of a probe by a worker that the plan leaves out; 0: unknown
  friend bool operator==(const SlowGpu&, const SlowGpu&) = default;

  [[nodiscard]] bool is_slow() const { return slowdown > 1; }
};

// What a job forgoes because it postpones a change to a better plan (planner/replan/look_ahead.h).
struct Forgone {
  Seconds before_since;  // forgone from when the job adopted its plan until `since`
  Time since;
  double share = 0;  // of the time after `since`; 0: no better plan waits
  std::string plan;  // the GPUs of the plan that waits, for people
  Time change_at;    // when the job changes to it at the latest
  friend bool operator==(const Forgone&, const Forgone&) = default;

  // Returns the time forgone until now.
  [[nodiscard]] Seconds until(Time now) const {
    return before_since + Seconds(share * std::max(0.0, seconds_between(since, now)));
  }
};

// One numbered plan of a job, with its placement.
struct Generation {
  std::int64_t generation = 0;
  Plan plan;  // if the generation releases the GPUs: the previous plan, which describes the state to save
  // Every worker derives the same pipeline schedule from these times; later profiles do not change them. The operator
  // sets them whenever it sets the plan. Only records that tests make have a plan without times.
  std::optional<ScheduleTimes> schedule_times;
  PlanSummary summary;
  std::optional<RunSettings> settings;  // empty: an older operator made the generation, from the spec as it still is
  Placement placement;
  std::vector<Member> members;  // first the pods of the placement, in order, then the pods that leave
  int rendezvous = 0;           // the index of the member that hosts the rendezvous store
  bool releases_gpus = false;   // no worker trains: the workers save the state, then all pods are removed
  bool is_leased = false;       // a single pod trains, and it stops unless the operator renews its lease

  Reason reason = Reason::kStarted;  // why the generation was made
  std::string message;
  Time caused_at;                    // when the first sign of the cause was observed
  Time leave_by;                     // when a pod that leaves may be gone, if the change is not voluntary
  Time asked_at;                     // when the planner was asked; equals `decided_at` if its answer was known
  Time decided_at;                   // when the generation was made
  Time committed_at;                 // when its membership was committed
  std::int64_t from_generation = 0;  // the generation that it replaces; 0: none
  int from_gpus = 0;                 // the number of GPUs in the plan that it replaces

  friend bool operator==(const Generation&, const Generation&) = default;

  // A generation that releases the GPUs is never committed if no pod holds state.
  [[nodiscard]] bool is_committed() const { return !members.empty(); }

  // What a replica of `placement` is and where it runs. `placed` is one of these replicas.
  [[nodiscard]] const Stage& stage_of(const ReplicaPlacement& placed) const;
  [[nodiscard]] const Replica& replica_of(const ReplicaPlacement& placed) const;
  [[nodiscard]] const Slot& slot_of(const ReplicaPlacement& placed) const;
  [[nodiscard]] std::vector<int> gpus_of(const ReplicaPlacement& placed) const;  // of the pod, by shard
};

// Returns whether the member leaves in an urgent change: its node is about to be terminated, or something has failed.
bool leaves_urgently(const Generation& generation, const Member& member);

// Returns whether the generation releases the GPUs because the job pauses: until the user resumes it, or until the
// cluster has enough GPUs. Returns false for a generation that releases them only to restart the job with new pods.
bool pauses_job(const Generation& generation);

// A generation before the newest one. Its pods may still train it, so it must be fenced before a newer generation
// trains (operator/protocol/fencing.h).
struct OlderRecord {
  std::int64_t generation = 0;
  bool is_leased = false;
  bool is_unrenewed = false;    // no operator renews the lease since it has read this
  std::vector<Member> members;  // the members with a role in this generation
  friend bool operator==(const OlderRecord&, const OlderRecord&) = default;
};

// The base class is the newest generation.
struct GenerationRecord : Generation {
  std::string job_uid;
  std::int64_t spec_generation = 0;     // the metadata.generation of the spec that the plan was made for
  std::int64_t min_pod_generation = 0;  // pods created for an earlier generation are replaced
  std::int64_t last_issued = 0;         // the highest number of any generation, including withdrawn ones
  // The running generation: it trains on while the newest one waits for its joining pods. Empty: the newest one is
  // committed, or is not a voluntary change. If the change is withdrawn, this generation becomes the newest one again.
  // Only a generation that is not committed can be withdrawn, because no agent was notified of it.
  std::optional<Generation> running;
  std::vector<OlderRecord> older;  // in ascending order of generations
  // The newest generation that the agent of a pod may have been notified of, by the UID of the pod.
  std::map<std::string, std::int64_t> notified;

  int restarts = 0;                       // the failures that count against maxRestarts
  std::string last_failure;               // the message of the last of them
  std::int64_t unresponsive_at_step = 0;  // the highest step at which an agent stopped an unresponsive worker
  Time not_before;                        // after a failure, no pod is created before this time
  std::vector<QuarantinedNode> quarantined_nodes;
  std::vector<PoolRefusal> pool_refusals;  // at most one of each pool
  std::vector<SlowGpu> slow_gpus;
  Forgone forgone;
  std::set<std::string>
      unreachable_pods;  // the UIDs of pods that answer the operator but not all peers; they do not take part

  friend bool operator==(const GenerationRecord&, const GenerationRecord&) = default;

  // The generation whose GPUs the job has: while a change is prepared, the one that trains on.
  [[nodiscard]] const Generation& in_use() const { return running ? *running : *this; }
};

PlanSummary summary_of(const Estimate& estimate, double bound_ratio);

kube::Json to_json(const GenerationRecord& record);
// Fails if the JSON is damaged. What the record says is not checked; see record_check.h.
Result<GenerationRecord> record_from_json(const kube::Json& json);

// Returns what the operator sends to every agent of a committed generation. Nothing in it changes with the job's spec
// while the generation lasts.
Assignment assignment_of(const GenerationRecord& record, const JobSpec& job, const std::string& callback);

}  // namespace sailor
