// Reason: why a generation was made, a condition holds, or an event was recorded. Decisions compare reasons; their
// texts exist only in the status, in events, in metrics and in the record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sailor {

enum class Reason : std::uint8_t {
  kNotYetKnown,

  // A generation was made.
  kStarted,             // it is the first
  kResumed,             // the job had been suspended, or had waited for capacity
  kScaleUpOpportunity,  // a better plan has become possible
  kSpecChanged,
  kSuspended,           // spec.suspend is true
  kWaitingForCapacity,  // no plan fits the GPUs that are left
  kNodePreempted,       // the node is about to be terminated
  kNodeTerminating,     // the pod was told to stop, or is being deleted
  kNodeLost,
  kPodLost,
  kPodNotStarted,
  kPeerLost,            // a connection broke although all pods answer
  kPathLost,            // two pods answer the operator, but not each other
  kWorkerUnresponsive,  // a worker gave its agent no answer
  kTrainerFailed,
  kJoiningPodFailed,  // a pod failed that had not trained before

  // A condition holds, or does not.
  kPlanned,
  kPlanning,
  kNotPlanned,
  kPlanInfeasible,
  kInvalidSpec,
  kAllPodsAnswer,
  kPodsPending,
  kOlderGenerationMayTrain,
  kTraining,
  kStarting,
  kSettled,
  kAsPlanned,
  kWorkerReportsProblem,
  kGpusReleased,
  kSaving,
  kStopping,
  kNotSuspended,
  kStepsRemain,
  kNotFailed,
  kDeadlineExceeded,
  kEnding,
  kComplete,
  kAllStepsDone,

  // Only an event.
  kChangeWithdrawn,
  kPoolWithoutPrice,
};

std::string_view to_string(Reason reason);  // "NodePreempted"
std::optional<Reason> reason_from_string(std::string_view text);

// Nothing forces a change for this reason: the job trains on while the change is prepared.
bool is_voluntary(Reason reason);

}  // namespace sailor
