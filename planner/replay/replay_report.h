// ReplayReport: what a job did in a replay: the steps that it completed, what it cost, and where its time went.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/units.h"

namespace sailor {

// Why a second brought no step that counts.
enum class LostTime {
  kWaiting,    // no plan fits the nodes
  kPlanning,   // the planner searches, and the job cannot train meanwhile
  kSaving,     // the job writes a checkpoint because it is about to restart
  kStarting,   // pods and processes start and load a checkpoint
  kRescaling,  // the workers of a live change connect and pass state on
  kRepeating,  // lost steps are computed again; also the time of lost steps that are never repeated
};

inline constexpr std::array kAllLostTimes{LostTime::kWaiting,  LostTime::kPlanning,  LostTime::kSaving,
                                          LostTime::kStarting, LostTime::kRescaling, LostTime::kRepeating};

std::string_view to_string(LostTime cause);

// A time in which the usable nodes and the plan stay the same.
struct ReplayPeriod {
  Seconds from;
  Seconds to;
  int available_gpus = 0;
  int used_gpus = 0;      // 0: the job waits for capacity
  double throughput = 0;  // iterations per second after the pause
  Seconds paused;
  double lost_steps = 0;                // steps from before the period that must be computed again
  std::string plan;                     // the hash of the plan; empty: none
  std::vector<std::string> lost_nodes;  // the nodes that the plan before lost
};

struct ReplayReport {
  std::vector<ReplayPeriod> periods;
  double steps = 0;     // completed steps, without lost ones
  double computed = 0;  // completed steps, including lost ones
  Dollars cost;
  Dollars idle_cost;  // the part of it for GPUs that no plan used
  Seconds useful;     // the time in which steps that count were computed for the first time
  std::map<LostTime, Seconds> lost;
  Seconds planned_at;  // when the job had its first plan; `end` if it never had one
  Seconds end;         // the end of the trace, or the time when the job was done
  int changes = 0;     // how often the plan changed, without the first start
  bool is_done = false;

  [[nodiscard]] Seconds lost_to(LostTime cause) const {
    const auto found = lost.find(cause);
    return found == lost.end() ? Seconds(0) : found->second;
  }
  [[nodiscard]] Seconds training() const { return useful + lost_to(LostTime::kRepeating); }
  [[nodiscard]] Seconds paused() const {
    return lost_to(LostTime::kPlanning) + lost_to(LostTime::kSaving) + lost_to(LostTime::kStarting) +
           lost_to(LostTime::kRescaling);
  }
  // The share of the time since the first plan that went into steps that count, as in the operator.
  [[nodiscard]] double goodput() const {
    const Seconds elapsed = end - planned_at;
    return elapsed > Seconds(0) ? useful / elapsed : 0;
  }
};

}  // namespace sailor
