// Transition: one step of the explored system, described in words for the counterexamples.
#pragma once

#include <cstdint>
#include <string>

namespace sailor::trainer::exploration {

enum class TransitionKind : std::uint8_t {
  kReceivesAssignment,
  kIsPrepared,
  kStartsStreaming,
  kEndsStreaming,
  kCompletesRendezvous,
  kSavesShards,
  kTransfersState,
  kConfirms,
  kComputes,
  kComputesAndWaits,
  kAppliesUpdate,
  kDropsStep,
  kLosesPeer,
  kPauses,
  kResumes,
  kLeaseChanges,
  kAnswersAgain,
  kIsDeleted,
  kWritesPlannedChange,
  kReplacesLostWorker,
  kReleasesGpus,
  kRestartsJob,
  kWithdrawsChange,
  kClaimsFolder,
  kCommitsMembership,
  kCrashes,  // this and the following are faults
  kIsPartitioned,
  kLosesConnection,
  kCannotSave,
  kLosesPath,
};

struct Transition {
  TransitionKind kind = TransitionKind::kReceivesAssignment;
  int worker = 0;      // the worker; -1: the operator
  int generation = 0;  // the generation that the transition concerns
};

inline bool is_fault(TransitionKind kind) { return kind >= TransitionKind::kCrashes; }

std::string describe(const Transition& transition);

}  // namespace sailor::trainer::exploration
