// LostCause: why time of a job did not go into steps that count.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sailor {

enum class LostCause : std::uint8_t {
  kWaiting,    // no plan fits the GPUs that the job may use
  kPlanning,   // the planner searches
  kStarting,   // the first pods, or those after a pause, start and load the state
  kRescaling,  // the job changes from one plan to the next
  kRepeating,  // steps were done again, because their state was lost
  kStalled,    // the workers train, but steps took longer than usual
};
inline constexpr std::array kLostCauses = {LostCause::kWaiting,   LostCause::kPlanning,  LostCause::kStarting,
                                           LostCause::kRescaling, LostCause::kRepeating, LostCause::kStalled};

std::string_view to_string(LostCause cause);  // "waiting", "planning", ...

}  // namespace sailor
