// What the user typed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/planner.h"

namespace sailor::cli {

enum class Format { kTable, kJson, kYaml, kHtml };

struct Inputs {
  std::string job;
  std::string cluster;
  std::string profiles;  // a folder; empty: analytic profiles only
};

struct PlanArguments {
  Inputs inputs;
  PlanSpace space = PlanSpace::kFlow;
  std::string current;  // the file of the running plan; empty: none
  std::optional<double> lifetime_seconds;
  bool is_repair = false;  // only plans near `current`
  std::optional<double> budget_seconds;
  std::optional<double> proof_seconds;
  int max_tensor_parallel = 8;
  Format format = Format::kTable;
};

struct SimulateArguments {
  Inputs inputs;
  std::string plan;
  std::string timeline;  // the file to write a trace of the step to; empty: none
  Format format = Format::kTable;
};

struct EvaluateArguments {
  std::string runs;      // a folder of measured runs
  std::string profiles;  // a folder
  Format format = Format::kTable;
};

}  // namespace sailor::cli
