// Decision: the actions that the operator takes for one job now, and the status and events that it writes. decide()
// returns it, and the applier carries it out.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/protocol/claim.h"
#include "operator/model/job_status.h"
#include "operator/model/observation.h"

namespace sailor {

struct WriteRecord {
  GenerationRecord record;
};
struct PublishPlan {
  kube::Json plan_map;  // see record_object.h
};
// Writes the Secret with new credentials for the pods of the job, and their NetworkPolicy.
struct SecureJob {
  // The first pod to be created after that; empty: all pods exist. If the API server refuses the objects, that counts
  // as a refusal of this pod (pod_refusals.h).
  std::string pod;
  // Only the CAs that the pods trust are replaced, if there are credentials (TrustChange::keeps_certificates).
  bool keeps_certificates = false;
};
struct CreatePod {
  kube::Json pod;
};
struct DeletePod {
  std::string name;
  std::string uid;
};
struct SendAssignment {
  std::string pod_uid;
  AgentAddress agent;
  std::shared_ptr<const Assignment> assignment;
};
// Asks the agent to claim the job's checkpoint folder.
struct ClaimFolder {
  std::string pod_uid;
  FolderClaim claim;
};
// Tells the agent the operator's present URL, to which the agent sends its hints.
struct UpdateCallback {
  std::string pod_uid;
};
struct AskPlanner {
  PlanQuestion question;
};
// Deletes the TrainingJob (spec.ttlSecondsAfterFinished).
struct DeleteJob {};
// Write a Workload of the job (model/workload.h).
struct CreateWorkload {
  kube::Json workload;
};
struct ReplaceWorkload {
  kube::Json workload;
};
struct ReplaceWorkloadStatus {
  kube::Json workload;
};
struct DeleteWorkload {
  std::string name;
  std::string uid;
};

using Action =
    std::variant<WriteRecord, PublishPlan, SecureJob, CreatePod, DeletePod, SendAssignment, ClaimFolder, UpdateCallback,
                 AskPlanner, DeleteJob, CreateWorkload, ReplaceWorkload, ReplaceWorkloadStatus, DeleteWorkload>;

// A Kubernetes event about the job.
struct JobEvent {
  bool is_warning = false;
  Reason reason = Reason::kNotYetKnown;
  std::string message;
  friend bool operator==(const JobEvent&, const JobEvent&) = default;
};

struct Decision {
  std::vector<Action> actions;      // in the order in which they are performed
  std::optional<JobStatus> status;  // empty: the present status need not change
  std::vector<JobEvent> events;
  std::optional<std::chrono::milliseconds> requeue_after;  // empty: the next change causes the next decision
  // The job waits, this operator has not decided about it before, and the planner is yet to answer.
  bool is_provisional = false;
};

}  // namespace sailor
