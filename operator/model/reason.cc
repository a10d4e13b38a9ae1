#include "operator/model/reason.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sailor {
namespace {

constexpr std::array<std::pair<Reason, std::string_view>, 58> kTexts = {{
    {Reason::kNotYetKnown, "NotYetKnown"},
    {Reason::kStarted, "Started"},
    {Reason::kResumed, "Resumed"},
    {Reason::kScaleUpOpportunity, "ScaleUpOpportunity"},
    {Reason::kLimitExceeded, "LimitExceeded"},
    {Reason::kStraggler, "Straggler"},
    {Reason::kStragglerEvicted, "StragglerEvicted"},
    {Reason::kStragglerRecovered, "StragglerRecovered"},
    {Reason::kSpecChanged, "SpecChanged"},
    {Reason::kPreempted, "Preempted"},
    {Reason::kSuspended, "Suspended"},
    {Reason::kWaitingForCapacity, "WaitingForCapacity"},
    {Reason::kWaitingForQuota, "WaitingForQuota"},
    {Reason::kNodePreempted, "NodePreempted"},
    {Reason::kNodeTerminating, "NodeTerminating"},
    {Reason::kNodeLost, "NodeLost"},
    {Reason::kPodLost, "PodLost"},
    {Reason::kPodNotStarted, "PodNotStarted"},
    {Reason::kPeerLost, "PeerLost"},
    {Reason::kPathLost, "PathLost"},
    {Reason::kWorkerUnresponsive, "WorkerUnresponsive"},
    {Reason::kTrainerFailed, "TrainerFailed"},
    {Reason::kJoiningPodFailed, "JoiningPodFailed"},
    {Reason::kRecordLost, "RecordLost"},
    {Reason::kPlanned, "Planned"},
    {Reason::kPlanning, "Planning"},
    {Reason::kNotPlanned, "NotPlanned"},
    {Reason::kPlanInfeasible, "PlanInfeasible"},
    {Reason::kInvalidSpec, "InvalidSpec"},
    {Reason::kInvalidRecord, "InvalidRecord"},
    {Reason::kAllPodsAnswer, "AllPodsAnswer"},
    {Reason::kPodsPending, "PodsPending"},
    {Reason::kWaitingForNodes, "WaitingForNodes"},
    {Reason::kPodRefused, "PodRefused"},
    {Reason::kAgentUntrusted, "AgentUntrusted"},
    {Reason::kAgentRefuses, "AgentRefuses"},
    {Reason::kOlderGenerationMayTrain, "OlderGenerationMayTrain"},
    {Reason::kTraining, "Training"},
    {Reason::kStarting, "Starting"},
    {Reason::kSettled, "Settled"},
    {Reason::kAsPlanned, "AsPlanned"},
    {Reason::kWorkerReportsProblem, "WorkerReportsProblem"},
    {Reason::kStateAtRisk, "StateAtRisk"},
    {Reason::kGpusReleased, "GpusReleased"},
    {Reason::kSaving, "Saving"},
    {Reason::kStopping, "Stopping"},
    {Reason::kNotSuspended, "NotSuspended"},
    {Reason::kStepsRemain, "StepsRemain"},
    {Reason::kNotFailed, "NotFailed"},
    {Reason::kDeadlineExceeded, "DeadlineExceeded"},
    {Reason::kEnding, "Ending"},
    {Reason::kComplete, "Complete"},
    {Reason::kAllStepsDone, "AllStepsDone"},
    {Reason::kChangeWithdrawn, "ChangeWithdrawn"},
    {Reason::kPoolWithoutPrice, "PoolWithoutPrice"},
    {Reason::kPoolOfUnknownAccelerator, "PoolOfUnknownAccelerator"},
    {Reason::kPoolWithoutKernels, "PoolWithoutKernels"},
    {Reason::kWorkloadRefused, "WorkloadRefused"},
}};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    if (static_cast<std::size_t>(kTexts[i].first) != i) return false;
  }
  return true;
}
static_assert(is_in_order() && kTexts.size() == static_cast<std::size_t>(Reason::kWorkloadRefused) + 1);

}  // namespace

std::string_view to_string(Reason reason) { return kTexts.at(static_cast<std::size_t>(reason)).second; }

std::optional<Reason> reason_from_string(std::string_view text) {
  const auto* found = std::ranges::find(kTexts, text, &std::pair<Reason, std::string_view>::second);
  return found == kTexts.end() ? std::nullopt : std::optional(found->first);
}

bool is_voluntary(Reason reason) {
  return reason == Reason::kScaleUpOpportunity || reason == Reason::kLimitExceeded || reason == Reason::kSpecChanged ||
         reason == Reason::kStraggler || reason == Reason::kStragglerEvicted || reason == Reason::kStragglerRecovered ||
         reason == Reason::kPreempted;
}

}  // namespace sailor
