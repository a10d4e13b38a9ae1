// The rules by which a running job changes its plan. The operator decides by them, and `sailor replay` plays them.
#pragma once

#include <algorithm>
#include <chrono>

#include "core/model/job_spec.h"
#include "planner/problem/worth_moving.h"

namespace sailor {

// The least time from one change to the next voluntary one, unless the operator's settings say otherwise.
inline constexpr std::chrono::seconds kCoolDown{10};

// The figures of a plan by which objectives compare plans.
struct PlanFigures {
  double iteration_seconds = 0;
  double cost_per_iteration = 0;  // US dollars
};

inline double figure_for(const Objective& objective, const PlanFigures& figures) {
  return std::holds_alternative<MinimizeCost>(objective) ? figures.cost_per_iteration : figures.iteration_seconds;
}

// The hysteresis of voluntary changes: whether a job that could go on by its plan moves to another one.
inline bool is_clearly_better(const Objective& objective, const PlanFigures& present, const PlanFigures& other) {
  return is_worth_moving(figure_for(objective, present), figure_for(objective, other));
}

// Whether a job may leave a plan that it could keep. A restart without a checkpoint would lose all steps.
inline bool may_change_by_choice(ElasticityMode mode, const CheckpointSpec& checkpoint) {
  return mode == ElasticityMode::kLive || (mode == ElasticityMode::kRestart && !checkpoint.path.empty());
}
inline bool may_change_by_choice(const JobSpec& job) { return may_change_by_choice(job.elasticity, job.checkpoint); }

// What is assumed of a restart: the time from the start of pods until all workers have loaded the checkpoint.
inline constexpr Seconds kAssumedRestart{60};

// How long a job stops for a change of plan. `live` is the planner's estimate for a live change.
constexpr Seconds pause_of_change(ElasticityMode mode, Seconds live) {
  return mode == ElasticityMode::kRestart ? std::max(live, kAssumedRestart) : live;
}

// Whether a job that lost a part of its GPUs saves its state and releases the others. `has_plan` says whether a plan
// fits the GPUs that are left.
constexpr bool releases_gpus_after_loss(ElasticityMode mode, bool has_plan) {
  return mode != ElasticityMode::kLive || !has_plan;
}

}  // namespace sailor
