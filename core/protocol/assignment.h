// Assignment: one generation of a job. The operator sends it to the agents; docs/protocol.md says when.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/model/job_spec.h"
#include "core/model/plan.h"
#include "core/model/schedule_times.h"

namespace sailor {

// One pod of the job.
struct AgentAddress {
  std::string name;    // name of the pod
  std::string host;    // IP address of the pod
  int port = 0;        // port of the agent's HTTP server
  int store_port = 0;  // port of the agent's rendezvous store
  PoolKey pool;
  int gpus = 0;
  friend bool operator==(const AgentAddress&, const AgentAddress&) = default;
};

// The part of the plan that a worker runs in a generation.
struct Role {
  int stage = 0;
  int replica = 0;  // within the stage
  int shard = 0;    // within the replica's tensor-parallel group
  friend bool operator==(const Role&, const Role&) = default;
};

// One GPU of an agent. Ranks are the positions in Assignment::workers.
struct WorkerSlot {
  int agent = 0;             // index into Assignment::agents
  int gpu = 0;               // number of the GPU within the agent, from 0
  std::optional<Role> role;  // absent: the worker leaves the job and only hands over its state
  friend bool operator==(const WorkerSlot&, const WorkerSlot&) = default;
};

struct Assignment {
  JobKey job;
  std::string job_uid;
  // Grows from one generation to the next, not always by one. A worker ignores one that is not newer than its own.
  std::int64_t generation = 0;
  ModelSpec model;
  TrainingSpec training;
  DataSpec data;
  CheckpointSpec checkpoint;
  // By how many percent steps may take longer while workers receive state. An urgent change has no such limit.
  int streaming_slowdown_percent = kStreamingSlowdownPercent;
  double failures_per_hour = 0;  // ExpectedLoss::failures_per_hour of the plan, for automatic checkpoints
  Plan plan;
  // The times from which the workers make the schedule of the plan. The operator always sends them. They may be absent
  // in an assignment that a test or a benchmark makes without a simulator (trainer/step/operations.h).
  std::optional<ScheduleTimes> schedule_times;
  std::vector<AgentAddress> agents;
  // First the workers with a role, ordered by stage, replica and shard; then those that leave.
  std::vector<WorkerSlot> workers;
  // True: the job saves its state and releases its GPUs, so no worker has a role. The workers write a checkpoint of the
  // newest step for which they have the complete state, and are then released. A worker that cannot write, for
  // example because the folder is gone, keeps its state and reports that it is broken, with the reason.
  bool releases_gpus = false;
  // Set if the change is urgent: a pod that leaves may be terminated at this time. Workers stop for the change in time,
  // if need be in the middle of a step. Otherwise training continues until all workers have received their state.
  std::optional<std::chrono::sys_time<std::chrono::milliseconds>> leave_by;
  int rendezvous = 0;  // index of the agent that runs the rendezvous store of this generation
  // How long a lease lasts (see core/protocol/lease.h). The generation applies updates only while it has a lease. 0: it
  // needs no lease, usually because its workers are in several pods and cannot continue without a vote from another
  // pod.
  int lease_seconds = 0;
  std::string callback;  // URL of the operator for hints and lease questions; empty: the agents send none
  friend bool operator==(const Assignment&, const Assignment&) = default;

  [[nodiscard]] int training_workers() const;  // the number of workers with a role
};

nlohmann::json to_json(const Assignment& assignment);
Result<Assignment> assignment_from_json(const nlohmann::json& json);

// Checks that the plan is well-formed for the model and the training, that every role of the plan has exactly one
// worker, that workers with a role come first, that no GPU is used twice, and that all indices are valid.
Result<void> check_complete(const Assignment& assignment);

}  // namespace sailor
