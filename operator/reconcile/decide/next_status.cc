#include "operator/reconcile/decide/next_status.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/model/cut_text.h"
#include "core/model/plan_hash.h"
#include "operator/model/names.h"
#include "operator/model/observation_queries.h"
#include "operator/model/unused_pools.h"
#include "operator/reconcile/decide/progress_status.h"
#include "operator/reconcile/decide/rescale_history.h"
#include "operator/reconcile/decide/status_events.h"

namespace sailor {
namespace {

using enum ConditionType;

constexpr const char* kWaitingState = "Waiting";  // status.state of a job that waits for GPUs
// The interval while the step changes: a tenth of a second for each job that may use GPUs, within these limits. So up
// to a hundred jobs together keep the API server busy with at most ten writes a second.
constexpr auto kStepsEveryPerJob = std::chrono::milliseconds(100);
constexpr auto kStepsOfFewJobsEvery = std::chrono::seconds(2);
constexpr auto kStepsOfManyJobsEvery = std::chrono::seconds(10);
constexpr auto kProgressEveryPerJob = std::chrono::milliseconds(20);  // the least; counts with more than 500 jobs
constexpr std::size_t kLongestConditionMessage = 4096;  // of a condition, in bytes; Kubernetes refuses more than 32 KiB
constexpr auto kWordsEvery = std::chrono::milliseconds(1000);  // the least interval while only words change
constexpr auto kDollarsEvery = std::chrono::seconds(30);       // the interval while only the cost changes

std::map<ConditionType, ConditionStatus> conditions_status(const Observation& observation,
                                                           const Conditions& conditions) {
  std::map<ConditionType, ConditionStatus> list;
  for (const ConditionType type : kConditionTypes) {
    const Condition& condition = condition_of(conditions, type);
    const ConditionStatus* before = observation.job.status.find(type);
    const bool stays = before != nullptr && before->condition.truth == condition.truth;
    Condition shown = condition;
    shown.message = cut_text(condition.message, kLongestConditionMessage);
    list[type] = {shown, observation.job.spec_generation, stays ? before->last_transition : observation.now};
  }
  return list;
}

PlanStatus plan_status(const Generation& generation, const JobKey& job) {
  PlanStatus status;
  status.generation = generation.generation;
  status.hash = plan_hash(generation.plan);
  status.config_map = plan_map_name(job.name);
  status.total_gpus = gpu_count(generation.plan);
  for (const auto& [graded, count] : gpus_by_pool(generation.plan)) {
    PoolKey pool = graded;
    pool.grade = 0;  // the slow GPUs of a pool count as GPUs of the pool
    status.gpus[pool] += count;
  }
  status.iteration_seconds = generation.summary.iteration_seconds;
  status.tokens_per_second = std::llround(generation.summary.tokens_per_second);
  status.cost_per_iteration = generation.summary.cost_per_iteration();
  status.cost_per_hour = generation.summary.cost_per_hour;
  return status;
}

// Returns whether the job trains, or will in a moment. The speed of a complete job stays, for whoever compares jobs.
bool shows_speed(const Conditions& conditions) {
  return is_true(conditions, kRunning) || is_true(conditions, kRescaling) || is_true(conditions, kComplete);
}

JobStatus next_status(const Observation& observation, const std::optional<GenerationRecord>& record,
                      const Conditions& conditions) {
  JobStatus status;
  status.observed_spec_generation = observation.job.spec_generation;
  const StateSummary summary = summary_of(conditions);
  status.state = summary.state;
  status.reason = to_string(summary.reason);
  status.conditions = conditions_status(observation, conditions);
  const JobStatus& before = observation.job.status;
  status.restarts = record ? record->restarts : before.restarts;
  if (record && !is_true(conditions, kSuspended)) status.start_time = before.start_time.value_or(observation.now);
  if (status.has_ended()) status.completion_time = observation.now;
  if (record && !record->releases_gpus) status.plan = plan_status(record->in_use(), observation.job.key);
  if (!record) {  // a lost record is replaced by what the status says, so that must not be lost too
    status.start_time = before.start_time;
    status.plan = before.plan;
  }
  status.progress = progress_status(observation, record);
  if (status.progress && status.progress->newest && !shows_speed(conditions)) {
    status.progress->newest->tokens_per_second = 0;
  }
  if (status.has_ended() && status.progress) status.progress->dollars_per_hour = 0;  // its last pods are being removed
  status.rescales = rescales_status(observation, record);
  if (status.has_ended()) end_history(status.rescales);
  if (observation.job.spec) set_unused_pools(status, *observation.job.spec, *observation.cluster);
  return status;
}

bool is_equal_but_for_progress(JobStatus one, JobStatus other) {
  one.progress.reset();
  other.progress.reset();
  return to_json(one) == to_json(other);
}

bool is_equal_but_for_time(const ProgressStatus& one, const ProgressStatus& other) {
  JobStatus first;
  JobStatus second;
  first.progress = one;
  second.progress = other;
  first.progress->time = second.progress->time;
  return to_json(first) == to_json(second);
}

// Returns how often the job writes its progress. Each job that may use GPUs adds to the time.
std::chrono::milliseconds progress_interval(const Observation& observation, bool has_new_step) {
  const std::ptrdiff_t jobs = std::ssize(observation.rivals->all());
  const auto steps_every =
      std::clamp<std::chrono::milliseconds>(kStepsEveryPerJob * jobs, kStepsOfFewJobsEvery, kStepsOfManyJobsEvery);
  return std::max<std::chrono::milliseconds>(has_new_step ? steps_every : kDollarsEvery, kProgressEveryPerJob * jobs);
}

// Returns whether to write the status. A change of the progress alone waits for an interval. Compares the statuses as
// JSON, because decimals are rounded there.
bool is_worth_a_write(const Observation& observation, const JobStatus& wanted) {
  const JobStatus& before = observation.job.status;
  if (!is_equal_but_for_progress(before, wanted)) return true;
  if (before.progress.has_value() != wanted.progress.has_value()) return true;
  if (!before.progress) return false;
  const ProgressStatus& was = *before.progress;
  const ProgressStatus& now = *wanted.progress;
  if (is_equal_but_for_time(was, now)) return false;
  if (!was.time) return true;
  const auto step_of = [](const ProgressStatus& progress) { return progress.newest ? progress.newest->step : 0; };
  if (observation.now < *was.time) return true;  // the clock was set back
  return observation.now - *was.time >= progress_interval(observation, step_of(was) != step_of(now));
}

JobStatus without_words(JobStatus status) {
  for (auto& [type, stated] : status.conditions) stated.condition.message.clear();
  return status;
}

// Returns whether only the words of conditions differ, or the status of a new job would only say that the planner looks
// for its plan. Most such states last for milliseconds, and while the pods of a job start, one follows the other.
bool may_wait(const JobStatus& before, const JobStatus& wanted) {
  if (!before.conditions.empty()) return is_equal_but_for_progress(without_words(before), without_words(wanted));
  const ConditionStatus* planned = wanted.find(kPlanned);
  return planned != nullptr && planned->condition.reason == Reason::kPlanning;
}

// Returns whether this operator has just begun to ask the agents of a job that runs. Until the first of them has
// answered, or has not in time, the status that another operator has written is the best that is known.
bool knows_no_agent_yet(const Observation& observation) {
  if (!observation.record || !observation.job.status.is_true(kRunning)) return false;
  bool asks_any = false;
  for (const Member& member : observation.record->members) {
    const auto pod = std::ranges::find(observation.pods, member.pod_uid, &PodView::uid);
    if (pod == observation.pods.end() || pod->has_ended()) continue;
    const AgentView* agent = find_agent(observation, *pod);
    if (agent != nullptr && (agent->report || agent->unanswered_polls > 0)) return false;
    asks_any = true;
  }
  return asks_any;
}

// Returns whether the job waits, as another operator has written, and this one has not decided about it before. What it
// waits for is not known to have changed until the planner has answered.
bool waits_as_before(const Observation& observation, const PolicyResult& result) {
  const Rival* job = observation.rivals->find(observation.job.uid);
  const bool is_undecided = job != nullptr && job->state == RivalState::kUndecided;
  return is_undecided && result.awaits_planner && observation.job.status.state == kWaitingState;
}

}  // namespace

StateSummary summary_of(const Conditions& conditions) {
  const auto about = [&](const char* state, ConditionType type) {
    return StateSummary{state, condition_of(conditions, type).reason};
  };
  if (is_true(conditions, kFailed)) return about("Failed", kFailed);
  if (is_true(conditions, kComplete)) return about("Complete", kComplete);
  const bool is_stopping = condition_of(conditions, kSuspended).reason == Reason::kStopping;
  if (is_true(conditions, kSuspended) || is_stopping) return about("Suspended", kSuspended);
  const Reason plan = condition_of(conditions, kPlanned).reason;
  const bool has_no_plan =
      plan == Reason::kWaitingForCapacity || plan == Reason::kWaitingForQuota || plan == Reason::kPlanInfeasible;
  if (has_no_plan && !is_true(conditions, kRunning)) return about(kWaitingState, kPlanned);
  const bool is_invalid = plan == Reason::kInvalidSpec || plan == Reason::kInvalidRecord;
  if (is_invalid && is_true(conditions, kRunning)) return about("Running", kPlanned);
  // Nodes may take minutes to come, and nothing else happens to the job until they do.
  const bool waits_for_nodes = condition_of(conditions, kPodsReady).reason == Reason::kWaitingForNodes;
  if (waits_for_nodes && is_true(conditions, kRunning)) return about("Running", kPodsReady);
  if (is_true(conditions, kRescaling)) return about("Rescaling", kRescaling);
  if (is_true(conditions, kRunning)) return about("Running", is_true(conditions, kDegraded) ? kDegraded : kRunning);
  if (is_true(conditions, kPlanned)) return about("Starting", kPodsReady);
  return about(plan == Reason::kPlanning ? "Pending" : kWaitingState, kPlanned);
}

Decision with_status(const Observation& observation, PolicyResult result) {
  const bool is_provisional = waits_as_before(observation, result);
  const bool is_known =
      result.record.has_value() || result.is_final || !(is_provisional || knows_no_agent_yet(observation));
  const auto& record = result.record ? result.record : observation.record;
  JobStatus status = next_status(observation, record, result.conditions);
  const bool is_new = is_known && is_worth_a_write(observation, status);
  const bool waits = is_new && observation.status_age < kWordsEvery && may_wait(observation.job.status, status);
  if (waits) requeue(result, kWordsEvery - observation.status_age);
  Decision decision{std::move(result.actions), std::nullopt, std::move(result.events), result.requeue_after,
                    is_provisional};
  if (!is_new || waits) return decision;
  std::ranges::move(events_of_change(observation.job.status, status), std::back_inserter(decision.events));
  decision.status = std::move(status);
  return decision;
}

}  // namespace sailor
