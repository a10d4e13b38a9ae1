// Assignment: one generation of a job as its agents are told it. docs/protocol.md says who sends it to whom and when.
#pragma once

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
  std::string name;    // of the pod
  std::string host;    // its IP
  int port = 0;        // of the agent's HTTP server
  int store_port = 0;  // of the agent's rendezvous store
  PoolKey pool;
  int gpus = 0;
  friend bool operator==(const AgentAddress&, const AgentAddress&) = default;
};

// What a worker does in a generation.
struct Role {
  int stage = 0;
  int replica = 0;  // within the stage
  int shard = 0;    // within the replica's tensor-parallel group
  friend bool operator==(const Role&, const Role&) = default;
};

// One GPU of an agent. Ranks are the positions in Assignment::workers.
struct WorkerSlot {
  int agent = 0;             // index into Assignment::agents
  int gpu = 0;               // of that agent, from 0
  std::optional<Role> role;  // absent: it leaves; it only hands over its state
  friend bool operator==(const WorkerSlot&, const WorkerSlot&) = default;
};

struct Assignment {
  JobKey job;
  std::string job_uid;
  std::int64_t generation = 0;  // counts up by one or more; a worker obeys only a newer one than its own
  ModelSpec model;
  TrainingSpec training;
  DataSpec data;
  CheckpointSpec checkpoint;
  Redundancy redundancy = Redundancy::kNone;
  Plan plan;
  std::optional<ScheduleTimes> schedule_times;  // of the plan; absent: whoever sends it knows none
  std::vector<AgentAddress> agents;
  std::vector<WorkerSlot> workers;  // those with a role first, ordered by stage, replica, shard; then the leaving ones
  // The job is parked: no worker has a role. They bring the newest step that they hold together to a checkpoint, then
  // all are released. A worker that cannot (its folder has gone) keeps its state and is broken, and says why.
  bool releases_gpus = false;
  // Somebody who leaves may be gone within seconds: nobody waits for newcomers that follow the training.
  bool is_urgent = false;
  int rendezvous = 0;  // index of the agent whose store the workers meet at
  // The generation applies an update only while its lease holds, which its agent asks the operator for and which counts
  // from the asking. 0: it needs none, for it cannot go on without a vote from another pod.
  int lease_seconds = 0;
  std::string callback;  // URL of the operator, for hints; empty: none
  friend bool operator==(const Assignment&, const Assignment&) = default;

  [[nodiscard]] int training_workers() const;  // those with a role
};

nlohmann::json to_json(const Assignment& assignment);
Result<Assignment> assignment_from_json(const nlohmann::json& json);

// Every layer is covered by every replica once, every role has exactly one worker, no GPU is used twice.
Result<void> check_complete(const Assignment& assignment);

}  // namespace sailor
