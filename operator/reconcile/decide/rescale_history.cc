#include "operator/reconcile/decide/rescale_history.h"

#include <algorithm>

#include "core/model/cut_text.h"
#include "operator/model/observation_queries.h"

namespace sailor {
namespace {

constexpr std::size_t kKept = 10;
constexpr std::size_t kLongestMessage = 300;  // the status contains up to ten of them

double not_negative(double seconds) { return std::max(0.0, seconds); }

RescaleStatus new_entry(const GenerationRecord& record) {
  RescaleStatus entry;
  entry.time = record.decided_at;
  entry.reason = record.reason;
  entry.message = cut_text(record.message, kLongestMessage);
  entry.from_generation = record.from_generation;
  entry.to_generation = record.generation;
  entry.from_gpus = record.from_gpus;
  entry.to_gpus = record.releases_gpus ? 0 : gpu_count(record.plan);
  entry.parts = {{RescalePart::kDetect, not_negative(seconds_between(record.caused_at, record.asked_at))},
                 {RescalePart::kPlan, not_negative(seconds_between(record.asked_at, record.decided_at))}};
  return entry;
}

// Returns whether the generation gets an entry. A release that is the first half of a restart does not: it belongs to
// the change that follows.
bool is_listed(const GenerationRecord& record) {
  return record.from_generation > 0 && (!record.releases_gpus || pauses_job(record));
}

bool is_of_change_in_progress(const Observation& observation, const JobProgress& progress) {
  const auto& entries = observation.job.status.rescales;
  if (entries.empty() || !entries.back().is_in_progress()) return false;
  return progress.generation >= entries.back().to_generation;
}

bool any_worker_holds_state(const Observation& observation) {
  return std::ranges::any_of(observation.agents, [](const auto& agent) { return holds_state(agent.second); });
}

// Sets the parts of the duration. kPush is what remains after all other parts: the time for messages and state
// streaming.
void set_parts(const GenerationRecord& record, const RegroupTimes& times, double seconds, RescaleStatus& entry) {
  auto& parts = entry.parts;
  const double pods = record.is_committed() ? seconds_between(record.decided_at, record.committed_at) : 0;
  double rest = seconds - parts[RescalePart::kDetect] - parts[RescalePart::kPlan] - pods;
  rest -= times.regroup_seconds + times.transfer_seconds + times.first_step_seconds;
  parts[RescalePart::kPods] = not_negative(pods);
  parts[RescalePart::kPush] = not_negative(rest);
  parts[RescalePart::kRegroup] = not_negative(times.regroup_seconds);
  parts[RescalePart::kTransfer] = not_negative(times.transfer_seconds);
  parts[RescalePart::kFirstStep] = not_negative(times.first_step_seconds);
}

void complete(const Observation& observation, const GenerationRecord& record, const JobProgress& progress,
              RescaleStatus& entry) {
  const bool is_newest = entry.to_generation == record.generation;
  const Time cause = is_newest ? record.caused_at : entry.time;
  const double seconds = not_negative(seconds_between(cause, observation.now));
  entry.seconds = seconds;
  if (progress.times.stopped_seconds > 0) entry.stopped_seconds = progress.times.stopped_seconds;
  entry.steps_lost = steps_lost(observation, progress);
  entry.source = progress.source;
  entry.streamed_bytes = progress.streamed_bytes;
  entry.moved_bytes = progress.moved_bytes;
  if (is_newest) set_parts(record, progress.times, seconds, entry);
}

// Returns the step that the status has last seen the job reach.
std::int64_t reached_step(const Observation& observation) {
  const auto& last = observation.job.status.progress;
  return last && last->newest ? last->newest->step : 0;
}

// Completes a change that releases the GPUs. Such a change has no first step; it ends once the state is saved, or given
// up. What is lost if not all of it is saved shows when the job resumes.
void complete_release(const Observation& observation, const GenerationRecord& record,
                      const std::optional<JobProgress>& progress, RescaleStatus& entry) {
  entry.seconds = not_negative(seconds_between(record.caused_at, observation.now));
  const bool is_saved = progress && is_of_release(record, *progress);
  if (is_saved && progress->step >= reached_step(observation)) entry.steps_lost = 0;
}

void update(const Observation& observation, const GenerationRecord& record, RescaleStatus& entry) {
  const auto progress = newest_progress(observation);
  const bool is_replaced = record.from_generation < entry.to_generation && entry.to_generation < record.generation;
  if (entry.to_generation > record.generation || is_replaced) {
    entry.is_withdrawn = true;
  } else if (progress && completes_a_rescale(observation, *progress)) {
    complete(observation, record, *progress, entry);
  } else if (record.releases_gpus && entry.to_generation == record.generation && !any_worker_holds_state(observation)) {
    complete_release(observation, record, progress, entry);
  }
}

}  // namespace

bool completes_a_rescale(const Observation& observation, const JobProgress& progress) {
  return is_of_change_in_progress(observation, progress) && progress.step > progress.resumed_step;
}

bool is_before_first_step(const Observation& observation, const JobProgress& progress) {
  return is_of_change_in_progress(observation, progress) && progress.step <= progress.resumed_step;
}

bool is_of_release(const GenerationRecord& record, const JobProgress& progress) {
  return record.releases_gpus && progress.generation == record.generation;
}

std::int64_t steps_lost(const Observation& observation, const JobProgress& progress) {
  return std::max(progress.steps_lost, reached_step(observation) - progress.resumed_step);
}

void end_history(std::vector<RescaleStatus>& entries) {
  if (!entries.empty() && entries.back().is_in_progress()) entries.back().is_interrupted = true;
}

std::vector<RescaleStatus> rescales_status(const Observation& observation,
                                           const std::optional<GenerationRecord>& record) {
  std::vector<RescaleStatus> entries = observation.job.status.rescales;
  if (!record) return entries;
  if (!entries.empty() && entries.back().is_in_progress()) update(observation, *record, entries.back());
  const bool has_entry = !entries.empty() && entries.back().to_generation >= record->generation;
  if (is_listed(*record) && !has_entry) {
    // The new entry replaces that of a withdrawn change.
    if (!entries.empty() && entries.back().is_withdrawn) entries.pop_back();
    end_history(entries);
    entries.push_back(new_entry(*record));
  }
  if (entries.size() > kKept) entries.erase(entries.begin());
  return entries;
}

}  // namespace sailor
