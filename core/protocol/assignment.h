// Assignment: one generation of a job, as the operator sends it to the agents. docs/protocol.md says when it does.
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
  std::optional<Role> role;  // absent: the worker leaves, and only hands over its state
  friend bool operator==(const WorkerSlot&, const WorkerSlot&) = default;
};

struct Assignment {
  JobKey job;
  std::string job_uid;
  std::int64_t generation = 0;  // increases by one or more; a worker obeys only a generation newer than its own
  ModelSpec model;
  TrainingSpec training;
  DataSpec data;
  CheckpointSpec checkpoint;
  Redundancy redundancy = Redundancy::kNone;
  Plan plan;
  std::optional<ScheduleTimes> schedule_times;  // of the plan; absent: the operator knows none
  std::vector<AgentAddress> agents;
  std::vector<WorkerSlot> workers;  // first those with a role, ordered by stage, replica, shard; then those that leave
  // The job saves its state and releases its GPUs: no worker has a role. The workers write the newest step of which
  // they have the whole state to a checkpoint, then all are released. A worker that cannot write, for example because
  // the folder is gone, keeps its state, and is broken with the reason.
  bool releases_gpus = false;
  // A pod that leaves may be gone within seconds, so the change does not wait for joining workers to receive state.
  bool is_urgent = false;
  int rendezvous = 0;  // index of the agent whose rendezvous store the workers use
  // The generation applies an update only while it has a lease of this length (see core/protocol/lease.h). 0: it needs
  // none, because it cannot continue without a vote from another pod.
  int lease_seconds = 0;
  std::string callback;  // URL of the operator, for hints and lease questions; empty: none
  friend bool operator==(const Assignment&, const Assignment&) = default;

  [[nodiscard]] int training_workers() const;  // those with a role
};

nlohmann::json to_json(const Assignment& assignment);
Result<Assignment> assignment_from_json(const nlohmann::json& json);

// Checks that every role of the plan has exactly one worker, that no GPU is used twice, and that all indices are valid.
Result<void> check_complete(const Assignment& assignment);

}  // namespace sailor
