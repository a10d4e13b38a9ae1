// LiveStart: what the operator would do for a job that is created in a cluster now, by the operator's own functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/live_cluster.h"
#include "operator/model/conditions.h"

namespace sailor::cli {

// A job of lower priority that gives GPUs to this one.
struct JobThatGives {
  JobKey job;
  int priority = 0;
  int gpus = 0;      // that it gives
  int left = 0;      // that it keeps
  std::string then;  // "shrinks", "restarts" with what is left, or "waits" without GPUs
};

// Who uses GPUs for which the job waits.
struct GpuHolder {
  std::string name;  // of a job; empty: other pods
  int priority = 0;
  int gpus = 0;
};

struct LiveStart {
  std::optional<PlanAnswer> answer;  // the plan, and the cluster that it is for; empty: the job waits
  Condition planned;                 // if it waits: why
  std::string existing_nodes;        // why the nodes that exist do not do; empty: they do
  std::string first;                 // the job that is planned before it; empty: none
  std::vector<JobThatGives> gives;
  std::vector<GpuHolder> holders;  // if it waits
  std::optional<QueueAnswer> queue;
};

using AskPlan = std::function<Result<PlannedJob>(const PlanQuestion&)>;

LiveStart start_now(Observation observation, std::optional<QueueAnswer> queue, const AskPlan& ask);

// What differs from a plan on free GPUs, as sentences and for programs.
std::vector<std::string> sentences_about(const LiveStart& start);
nlohmann::json to_json(const LiveStart& start);

}  // namespace sailor::cli
