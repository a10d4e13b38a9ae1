// Questions to an observation that several decisions ask.
#pragma once

#include <optional>
#include <string>

#include "operator/model/observation.h"

namespace sailor {

const PodView* find_pod(const Observation& observation, const std::string& name);
const AgentView* find_agent(const Observation& observation, const std::string& pod_uid);
const AgentView* find_agent(const Observation& observation, const PodView& pod);
// The agent of a member; null also if it does not answer the operator.
const AgentView* find_answering(const Observation& observation, const Member& member);
const Member* member_of(const Generation& generation, const std::string& pod_uid);

// The agent answers, and so do its workers. Until the workers' processes have reported, others would wait for them.
bool is_ready(const AgentView& agent);

// A worker of this pod has a part of the job's state.
bool holds_state(const AgentView& agent);

// A worker of this pod has lost a peer in that generation.
bool is_broken(const AgentView& agent, std::int64_t generation);

// This agent, which answers the operator, reports that the pod of `peer` does not answer it.
bool cannot_reach(const AgentView& agent, const Member& peer);

// The pod was created for an earlier generation than any whose pods may continue.
bool is_stale(const Observation& observation, const PodView& pod);

// A stale pod still runs on the slot's node and has to end first. A pod that has ended uses no GPU, although its object
// may stay for as long as a dead node does.
bool is_occupied(const Observation& observation, const Slot& slot);

// All workers with a role in this generation train it, or have finished it.
bool trains(const Observation& observation, const Generation& generation);

// UID of the node that a pod of this name runs on; empty: there is no such pod or node.
std::string node_uid_of_pod(const Observation& observation, const std::string& pod);

// The furthest progress that the agents, or pods that have ended, report.
std::optional<JobProgress> newest_progress(const Observation& observation);

double dollars_per_hour(const Observation& observation);  // of the pods that run

}  // namespace sailor
