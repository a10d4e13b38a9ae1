// Functions that derive facts from an observation. Several policies use each of them.
#pragma once

#include <optional>
#include <string>

#include "operator/model/observation.h"

namespace sailor {

const PodView* find_pod(const Observation& observation, const std::string& name);
const AgentView* find_agent(const Observation& observation, const std::string& pod_uid);
const AgentView* find_agent(const Observation& observation, const PodView& pod);
// Returns the agent of a member, or null if the agent does not answer the operator.
const AgentView* find_answering(const Observation& observation, const Member& member);
const Member* member_of(const Generation& generation, const std::string& pod_uid);

// Returns whether the agent answers, all its worker processes have reported, and none has failed. A generation that
// starts before that would wait for those processes.
bool is_ready(const AgentView& agent);

// Returns whether a worker of this pod holds a part of the job's state.
bool holds_state(const AgentView& agent);

// Returns whether a worker of this pod has lost a peer in the given generation.
bool is_broken(const AgentView& agent, std::int64_t generation);

// Returns whether this agent reports that the pod of `peer` does not answer it. The agent must have reported.
bool cannot_reach(const AgentView& agent, const Member& peer);

// Returns whether the pod was created before the job last restarted with new pods (min_pod_generation). A stale pod is
// removed.
bool is_stale(const GenerationRecord& record, const PodView& pod);

// Returns whether a stale pod of the job still runs on the slot's node. The pod of the slot can be created once the
// stale pod has ended. A pod that has ended uses no GPU, although its object may exist for longer.
bool is_occupied(const Observation& observation, const GenerationRecord& record, const Slot& slot);

// Returns whether the generation trains, or has done all steps: every pod that does not leave has a worker that reports
// so.
bool trains(const Observation& observation, const Generation& generation);

// Returns whether a worker of the job trains, in any generation.
bool any_worker_trains(const Observation& observation);

// Returns the UID of the node that the pod of this name runs on, or "" if the pod or the node does not exist.
std::string node_uid_of_pod(const Observation& observation, const std::string& pod);

// Returns the refusal that keeps the placement from being complete; null: no pod of it is refused.
const PodRefusal* find_refusal(const Observation& observation, const Placement& placement);

// Returns the progress of the newest generation that agents, or termination reports, mention; of several, that of the
// highest step. Returns nothing if the status has already seen a newer generation train.
std::optional<JobProgress> newest_progress(const Observation& observation);

// Returns what the job costs per hour at present: gpu_dollars_per_hour(), and the traffic of its steps at their
// measured speed.
double dollars_per_hour(const Observation& observation);
// Returns the present price of the GPUs of all running pods of the job.
double gpu_dollars_per_hour(const Observation& observation);

// Returns by how much the spot GPUs among them are cheaper than on demand. The price on demand is that of a pool in the
// same zone, or else the accelerator's list price. Pods whose price on demand is unknown save nothing.
double saved_dollars_per_hour(const Observation& observation);

}  // namespace sailor
