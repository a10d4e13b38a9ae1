#include "operator/reconcile/decide/stragglers.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "core/model/speed_grade.h"
#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/next_generation.h"
#include "operator/reconcile/decide/slow_gpus.h"
#include "planner/problem/worth_moving.h"
#include "planner/replan/change_rules.h"
#include "planner/replan/look_ahead.h"

namespace sailor {
namespace {

// A slow GPU stays slow for ten minutes on average (Greyhound), and one that has been slow for longer probably stays so
// for as long again.
constexpr std::chrono::seconds kUsualLength = std::chrono::minutes(10);

const SlowGpu* find_slow(const GenerationRecord& record, const std::string& node_uid, int gpu) {
  const auto found = std::ranges::find_if(record.slow_gpus, [&](const SlowGpu& slow) {
    return slow.is_slow() && slow.node_uid == node_uid && slow.gpu == gpu;
  });
  return found == record.slow_gpus.end() ? nullptr : &*found;
}

// The slow GPUs that the generation uses.
struct SlowRoles {
  int gpus = 0;
  // How many times as long as planned the GPU takes that is furthest behind the plan.
  double behind_plan = 1;
  Time since = Time::max();       // the first of those that are behind the plan
  bool is_ahead_of_plan = false;  // a tensor-parallel group is faster than planned
};

SlowRoles slow_roles(const GenerationRecord& record) {
  SlowRoles roles;
  for (const ReplicaPlacement& placed : record.placement.replicas) {
    const int planned = record.replica_of(placed).pool.grade;
    int slowest = 0;
    for (const int gpu : record.gpus_of(placed)) {
      const SlowGpu* slow = find_slow(record, record.slot_of(placed).node_uid, gpu);
      if (slow == nullptr) continue;
      ++roles.gpus;
      const int grade = grade_of(slow->slowdown);
      slowest = std::max(slowest, grade);
      if (grade <= planned) continue;
      roles.behind_plan = std::max(roles.behind_plan, slow->slowdown / slowdown_of(planned));
      roles.since = std::min(roles.since, slow->since);
    }
    roles.is_ahead_of_plan = roles.is_ahead_of_plan || slowest < planned;
  }
  return roles;
}

int slow_gpus_of(const Plan& plan) {
  int gpus = 0;
  for (const auto& [pool, count] : gpus_by_pool(plan)) gpus += pool.grade > 0 ? count : 0;
  return gpus;
}

// Returns the length of a step as measured, in units of the planner's estimates. An operator that has just started does
// not know what was usual; it then assumes that the slowest GPU delays all others.
double present_step_seconds(const Observation& observation, const SlowRoles& slow) {
  const double planned = observation.record.value().summary.iteration_seconds;
  return observation.present_step_seconds.value_or(planned * slow.behind_plan);
}

// Returns whether a change saves enough of each step, in seconds or dollars, and within `lifetime` more time than its
// pause costs.
bool is_worth_its_pause(double present, double other, Seconds pause, std::chrono::duration<double> lifetime) {
  return is_worth_moving(present, other) &&
         is_worth_pausing(share_forgone(present, other), pause, Seconds(lifetime.count()), Seconds(0));
}

bool is_better(const Observation& observation, const PlannedJob& other, const SlowRoles& slow) {
  const double present = present_step_seconds(observation, slow);
  const Seconds pause = pause_of_change(observation.job.spec->elasticity, other.pause);
  const std::chrono::duration<double> lifetime =
      std::max<std::chrono::duration<double>>(kUsualLength, observation.now - slow.since);
  if (!std::holds_alternative<MinimizeCost>(observation.job.spec->objective)) {
    return is_worth_its_pause(present, other.estimate.iteration.value(), pause, lifetime);
  }
  const PlanSummary& summary = observation.record.value().summary;
  const double present_cost =
      summary.gpu_cost_per_iteration * present / summary.iteration_seconds + summary.traffic_cost_per_iteration;
  return is_worth_its_pause(present_cost, other.estimate.cost_per_iteration().value(), pause, lifetime);
}

std::optional<PolicyResult> change_plan(const Observation& observation, const SlowRoles& slow) {
  const GenerationRecord& record = observation.record.value();
  const ElasticityMode mode = observation.job.spec->elasticity;
  const NodeQuery query = NodeQuery::for_change(mode);
  const PlanLookup lookup = look_up_better_plan(observation, record, query);
  if (!lookup.has_plan()) return ask_planner(lookup);
  const PlannedJob& other = *lookup.answer->result;
  // It may be the plan of the record: then free GPUs of usual speed take the place of the slow ones.
  if (other.keeps_current || !is_better(observation, other, slow)) return std::nullopt;
  const bool drops_gpus = slow_gpus_of(other.plan) < slow.gpus;
  const Cause cause{drops_gpus ? Reason::kStragglerEvicted : Reason::kStraggler,
                    slow_gpus_text(observation, record) + "."};
  return mode == ElasticityMode::kRestart ? save_and_release_gpus(observation, record, cause)
                                          : adopt_plan(observation, record, *lookup.answer, query, cause);
}

}  // namespace

std::optional<PolicyResult> respond_to_stragglers(const Observation& observation) {
  const GenerationRecord& record = observation.record.value();
  if (!trains(observation, record)) return std::nullopt;
  if (auto noted = note_slow_gpus(observation)) return noted;
  const SlowRoles slow = slow_roles(record);
  if (slow.behind_plan <= 1 || !may_change_by_choice(*observation.job.spec)) return std::nullopt;
  const Time quiet_until = record.decided_at + observation.settings.cool_down;
  if (observation.now < quiet_until) {
    PolicyResult result;
    requeue(result, quiet_until - observation.now);
    return result;
  }
  return change_plan(observation, slow);
}

std::optional<Cause> cause_of_faster_gpus(const Observation& observation) {
  const GenerationRecord& record = observation.record.value();
  if (const std::string recovered = recovered_gpus_text(observation, record.decided_at); !recovered.empty()) {
    return Cause{Reason::kStragglerRecovered, recovered + "."};
  }
  const std::string slow = slow_gpus_text(observation, record);
  if (slow.empty() || !slow_roles(record).is_ahead_of_plan) return std::nullopt;
  return Cause{Reason::kStraggler, slow + "."};
}

}  // namespace sailor
