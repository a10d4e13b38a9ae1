// Compares the paper's claims with the results of the cases.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "report/paper/experiments.h"
#include "report/paper/runner.h"

namespace sailor::paper {

// What a claim is compared with.
enum class Column {
  kRecorded,    // Sailor's recorded plan, by the paper's simulator
  kPaperSpace,  // our plans by the name of the column
  kFlowSpace,
  kTrainer,
  kMeasured,  // our estimates of measured runs
};
inline constexpr std::size_t kColumns = 5;

struct ClaimValue {
  std::optional<double> number;
  std::string text;  // instead of a number

  [[nodiscard]] bool is_empty() const { return !number && text.empty(); }
};

struct ClaimResult {
  Claim claim;
  std::array<ClaimValue, kColumns> values;  // indexed by Column

  [[nodiscard]] const ClaimValue& at(Column column) const { return values[static_cast<std::size_t>(column)]; }
  // Our value that is most like the paper's: under its execution model and in its plan space, or of measured runs.
  [[nodiscard]] const ClaimValue& comparable() const;
  // Whether both the paper and we have a value.
  [[nodiscard]] bool is_compared() const;
  // Whether the two are compared and more than a tenth apart. A smaller error does not count as different.
  [[nodiscard]] bool differs() const;
};

// The errors of an estimate of a measured run, as parts of the measured values; absent if a measurement is missing or
// known to be flawed.
struct RunErrors {
  std::string file;
  std::optional<double> time;
  std::optional<double> memory;
};

struct ExperimentResult {
  const Experiment* experiment = nullptr;
  std::vector<CaseResult> cases;
  std::vector<ClaimResult> claims;
};

ExperimentResult compare(const Experiment& experiment, std::vector<CaseResult> cases,
                         const std::vector<RunErrors>& runs);

// "128 A100 + 96 V100", and " in 2 zones" if the GPUs are in several.
std::string gpus_text(const std::map<PoolKey, int>& gpus);

}  // namespace sailor::paper
