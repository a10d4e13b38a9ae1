#include "operator/reconcile/decide/postponed_change.h"

#include "core/model/cut_text.h"
#include "operator/reconcile/decide/job_outlook.h"
#include "operator/reconcile/decide/plan_lookup.h"
#include "planner/replan/change_rules.h"
#include "planner/replan/look_ahead.h"

namespace sailor {
namespace {

constexpr Seconds kRoundingOfTimes{0.002};
constexpr std::size_t kLongestPlanText = 300;  // the record and the status contain it

double share_forgone_for(const Observation& observation, const Estimate& better) {
  const Objective& objective = observation.job.spec->objective;
  const PlanSummary& present = observation.record.value().summary;
  return share_forgone(figure_for(objective, {present.iteration_seconds, present.cost_per_iteration()}),
                       figure_for(objective, {better.iteration.value(), better.cost_per_iteration().value()}));
}

PolicyResult with_forgone(const Observation& observation, const Forgone& forgone) {
  PolicyResult result;
  GenerationRecord record = observation.record.value();
  record.forgone = forgone;
  write_record(result, std::move(record));
  return result;
}

}  // namespace

std::optional<PolicyResult> postpone_change(const Observation& observation, const PlannedJob& better) {
  const auto outlook = JobOutlook::of(observation);
  if (!outlook || better.limit_missed_by_current) return std::nullopt;
  const auto gpus = gpus_by_pool(better.plan);
  const double share = share_forgone_for(observation, better.estimate);
  const Seconds pause = pause_of_change(observation.job.spec->elasticity, better.pause);
  const Forgone& before = observation.record.value().forgone;
  const Seconds forgone = before.until(observation.now);
  if (is_worth_pausing(share, pause, outlook->time_until_change(gpus), forgone + kRoundingOfTimes)) return std::nullopt;
  Forgone now{forgone, observation.now, share, cut_text(gpus_text(better.plan), kLongestPlanText),
              later(observation.now, (pause - forgone) / Seconds(share))};
  const bool is_known = before.share == share && before.plan == now.plan;
  PolicyResult result = is_known ? PolicyResult() : with_forgone(observation, now);
  requeue(result, time_until(observation.now, is_known ? before.change_at : now.change_at));
  return result;
}

PolicyResult end_postponement(const Observation& observation) {
  const Forgone& before = observation.record.value().forgone;
  if (before.share == 0) return {};
  return with_forgone(observation, {before.until(observation.now), observation.now, 0, {}, {}});
}

}  // namespace sailor
