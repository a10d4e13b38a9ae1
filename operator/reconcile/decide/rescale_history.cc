#include "operator/reconcile/decide/rescale_history.h"

#include <algorithm>

#include <fmt/format.h>

#include "operator/model/job_status.h"
#include "operator/model/observation_queries.h"

namespace sailor {
namespace {

using kube::Json;
using kube::text_at;

constexpr std::size_t kKept = 10;
constexpr std::size_t kLongestMessage = 300;  // there are ten of them in the status

std::string seconds_text(double seconds) { return fmt::format("{:.3f}", std::max(0.0, seconds)); }

bool is_open(const Json& entry) { return !entry.contains("seconds") && !entry.contains("withdrawn"); }

Json new_entry(const GenerationRecord& record) {
  return {{"time", to_rfc3339(record.decided_at)},
          {"reason", record.reason},
          {"message", record.message.substr(0, kLongestMessage)},
          {"fromGeneration", record.from_generation},
          {"toGeneration", record.generation},
          {"fromGpus", record.from_gpus},
          {"toGpus", record.releases_gpus ? 0 : gpu_count(record.plan)},
          {"parts",
           {{"detect", seconds_text(seconds_between(record.caused_at, record.asked_at))},
            {"plan", seconds_text(seconds_between(record.asked_at, record.decided_at))}}}};
}

// A park that only comes before a start with other pods is a part of that change.
bool is_listed(const GenerationRecord& record) {
  return record.from_generation > 0 && (!record.releases_gpus || waits_until_wanted(record));
}

bool is_of_an_open_change(const Observation& observation, const JobProgress& progress) {
  const Json& entries = kube::list_at(observation.job.status, {"rescales"});
  if (entries.empty() || !is_open(entries.back())) return false;
  return progress.generation >= kube::integer_at(entries.back(), {"toGeneration"});
}

bool someone_holds_state(const Observation& observation) {
  return std::ranges::any_of(observation.agents, [](const auto& agent) { return holds_state(agent.second); });
}

// What is left of the whole once all else is taken off is the time in which messages go to and fro.
void tell_parts(const GenerationRecord& record, const RegroupTimes& times, double seconds, Json& entry) {
  Json& parts = entry["parts"];
  const double pods = record.is_committed() ? seconds_between(record.decided_at, record.committed_at) : 0;
  double rest = seconds - decimal_at(parts, {"detect"}) - decimal_at(parts, {"plan"}) - pods;
  rest -= times.regroup_seconds + times.transfer_seconds + times.first_step_seconds;
  parts["pods"] = seconds_text(pods);
  parts["push"] = seconds_text(rest);
  parts["regroup"] = seconds_text(times.regroup_seconds);
  parts["transfer"] = seconds_text(times.transfer_seconds);
  parts["firstStep"] = seconds_text(times.first_step_seconds);
}

void close_entry(const Observation& observation, const GenerationRecord& record, const JobProgress& progress,
                 Json& entry) {
  const bool is_newest = kube::integer_at(entry, {"toGeneration"}) == record.generation;
  const Time cause = is_newest ? record.caused_at : parse_rfc3339(text_at(entry, {"time"})).value_or(observation.now);
  const double seconds = std::max(0.0, seconds_between(cause, observation.now));
  entry["seconds"] = seconds_text(seconds);
  entry["stoppedSeconds"] = seconds_text(progress.times.stopped_seconds);
  entry["stepsLost"] = steps_lost(observation, progress);
  entry["source"] = std::string(to_string(progress.source));
  entry["followedBytes"] = progress.streamed_bytes;
  entry["movedBytes"] = progress.moved_bytes;
  if (is_newest) tell_parts(record, progress.times, seconds, entry);
}

// A job that is parked has no first step: its state is saved.
void close_park(const Observation& observation, const GenerationRecord& record, Json& entry) {
  entry["seconds"] = seconds_text(seconds_between(record.caused_at, observation.now));
  entry["stepsLost"] = 0;
}

}  // namespace

bool completes_a_rescale(const Observation& observation, const JobProgress& progress) {
  return is_of_an_open_change(observation, progress) && progress.step > progress.resumed_step;
}

bool is_before_first_step(const Observation& observation, const JobProgress& progress) {
  return is_of_an_open_change(observation, progress) && progress.step <= progress.resumed_step;
}

std::int64_t steps_lost(const Observation& observation, const JobProgress& progress) {
  const std::int64_t reached = kube::integer_at(observation.job.status, {"progress", "step"});
  return std::max(progress.steps_lost, reached - progress.resumed_step);
}

Json rescales_status(const Observation& observation, const std::optional<GenerationRecord>& record) {
  Json entries = kube::list_at(observation.job.status, {"rescales"});
  if (!record) return entries;
  if (!entries.empty() && is_open(entries.back())) {
    Json& last = entries.back();
    const auto told = kube::integer_at(last, {"toGeneration"});
    const auto progress = newest_progress(observation);
    if (told > record->generation) {
      last["withdrawn"] = true;
    } else if (progress && completes_a_rescale(observation, *progress)) {
      close_entry(observation, *record, *progress, last);
    } else if (record->releases_gpus && told == record->generation && !someone_holds_state(observation)) {
      close_park(observation, *record, last);
    }
  }
  const bool is_told = !entries.empty() && kube::integer_at(entries.back(), {"toGeneration"}) >= record->generation;
  if (is_listed(*record) && !is_told) {
    if (!entries.empty() && entries.back().contains("withdrawn")) entries.erase(entries.size() - 1);  // tried again
    entries.push_back(new_entry(*record));
  }
  if (entries.size() > kKept) entries.erase(entries.begin());
  return entries;
}

}  // namespace sailor
