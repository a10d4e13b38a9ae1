// Reason: why a generation was made, why a condition is true or false, or why an event was recorded. The enumerator's
// name without the "k" is the text in the status, in events, in metrics and in the record, so the names are contracts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sailor {

enum class Reason : std::uint8_t {
  kNotYetKnown,

  // Reasons for making a generation. The conditions Planned, Rescaling and Degraded repeat them.
  kStarted,             // the first generation of the job
  kResumed,             // the job was suspended, or waited for capacity
  kScaleUpOpportunity,  // a better plan has become possible
  kLimitExceeded,       // the plan no longer keeps a limit of the objective
  kStraggler,           // a GPU has got slow
  kStragglerEvicted,    // a GPU has got so slow that the job is faster without it
  kStragglerRecovered,  // a slow GPU is as fast as usual again
  kSpecChanged,
  kPreempted,           // a job of higher priority takes GPUs
  kSuspended,           // spec.suspend is true
  kWaitingForCapacity,  // no plan fits the available GPUs
  kWaitingForQuota,     // the queue of the job gives it no GPUs
  kNodePreempted,       // the node is about to be terminated
  kNodeTerminating,     // a pod received SIGTERM, or is being deleted
  kNodeLost,            // a node is gone, or a pod on it is unresponsive
  kPodLost,             // a pod is gone or has ended, although its node exists
  kPodNotStarted,       // a pod did not start, or did not take part, in time
  kPeerLost,            // a connection broke although all pods answer
  kPathLost,            // two pods answer the operator, but not each other
  kWorkerUnresponsive,  // an agent stopped its worker, which did not respond
  kTrainerFailed,
  kJoiningPodFailed,  // a new pod failed before it trained
  kRecordLost,        // the record is lost, or is older than what the agents know

  // Reasons for a condition to be true or false.
  kPlanned,                  // Planned is true
  kPlanning,                 // Planned is false: the planner has not answered yet
  kNotPlanned,               // other conditions are false because there is no plan
  kPlanInfeasible,           // Planned is false although there are enough GPUs
  kInvalidSpec,              // the spec cannot be read
  kInvalidRecord,            // the JobRecord cannot be used
  kAllPodsAnswer,            // PodsReady is true
  kPodsPending,              // PodsReady is false
  kWaitingForNodes,          // PodsReady is false: pods wait for nodes that an autoscaler has yet to make
  kPodRefused,               // PodsReady is false: the API server refuses to create a pod
  kAgentUntrusted,           // PodsReady is false: operator and agent do not accept each other's certificates
  kAgentRefuses,             // PodsReady is false: an agent does not accept what the operator sends
  kOlderGenerationMayTrain,  // PodsReady is false: an older generation is not fenced yet
  kTraining,                 // Running is true
  kStarting,                 // Running is false
  kSettled,                  // Rescaling is false
  kAsPlanned,                // Degraded is false
  kWorkerReportsProblem,     // Degraded is true
  kStateAtRisk,              // Degraded is true: a pod may be gone before it has sent state that only it has
  kGpusReleased,             // the newest generation releases the GPUs
  kSaving,                   // Suspended is false: the state is being saved
  kStopping,                 // Suspended is false: the pods have not ended yet
  kNotSuspended,             // Suspended is false: spec.suspend is false
  kStepsRemain,              // Complete is false
  kNotFailed,                // Failed is false
  kDeadlineExceeded,         // Failed is true
  kEnding,                   // all steps are done, and the pods have not ended yet
  kComplete,                 // other conditions of a job that is complete
  kAllStepsDone,             // Complete is true

  // Reasons that occur only in events.
  kChangeWithdrawn,
  kPoolWithoutPrice,
  kPoolOfUnknownAccelerator,
  kPoolWithoutKernels,
  kWorkloadRefused,  // the API server refuses to store a Workload of the job
};

std::string_view to_string(Reason reason);  // "NodePreempted"
std::optional<Reason> reason_from_string(std::string_view text);

// Returns whether nothing forces a change for this reason. The job then trains on while the change is prepared.
bool is_voluntary(Reason reason);

}  // namespace sailor
