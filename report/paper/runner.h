// Plans the cases of experiments with our planner, and prices our plans and the recorded ones with two execution
// models.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "report/paper/inputs.h"

namespace sailor::paper {

// Our planner, as it is asked for each case.
inline constexpr std::string_view kOursPaper = "ours, paper";      // space `paper`, execution model sailor-paper
inline constexpr std::string_view kOursFlow = "ours, flow";        // space `flow`, execution model sailor-paper
inline constexpr std::string_view kOursTrainer = "ours, trainer";  // space `flow`, execution model trainer

struct PlanResult {
  std::string planner;  // one of the names above, or that of a recorded plan
  std::optional<Outcome> recorded;
  std::optional<Outcome> by_paper;    // by the execution model sailor-paper
  std::optional<Outcome> by_trainer;  // by the execution model trainer
  std::optional<Seconds> search;
  std::map<PoolKey, int> gpus;
  std::string failure;  // why there is no plan, or no estimate of it; empty if there is
};

struct CaseResult {
  std::string name;
  std::vector<PlanResult> plans;  // the recorded ones first

  // Null if there is no plan of this planner.
  [[nodiscard]] const PlanResult* find(std::string_view planner) const;
};

// Runs the cases on as many threads as there are cores. `peer_plans` is the folder with a folder of recorded plans for
// each case; empty: none is read. Equal questions of several cases are asked once.
Result<std::vector<CaseResult>> run_cases(std::span<const Case* const> cases, const Artifact& artifact,
                                          const std::filesystem::path& peer_plans, std::stop_token stop);

}  // namespace sailor::paper
