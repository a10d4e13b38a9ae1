// Happening: one event of the explored world, in words: who, what.
#pragma once

#include <cstdint>
#include <string>

namespace sailor::trainer::exploration {

enum class What : std::uint8_t {
  kHears,
  kIsPrepared,
  kFollows,
  kFollowed,
  kMeets,
  kSaves,
  kMoves,
  kConfirms,
  kComputes,
  kComputesAndWaits,
  kApplies,
  kLosesPeer,
  kPauses,
  kGoesOn,
  kLeaseChanges,
  kAnswersAgain,
  kIsDeleted,
  kIsAsked,
  kGivesUp,
  kParks,
  kResumes,
  kWithdraws,
  kSeals,
  kCrashes,  // from here on: faults
  kIsCutOff,
  kLosesConnection,
  kCannotSave,
  kLosesPath,
};

struct Happening {
  What what = What::kHears;
  int who = 0;         // worker; -1: the operator
  int generation = 0;  // that it is about
};

inline bool is_fault(What what) { return what >= What::kCrashes; }

std::string describe(const Happening& happening);

}  // namespace sailor::trainer::exploration
