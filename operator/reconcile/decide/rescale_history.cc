#include "operator/reconcile/decide/rescale_history.h"

#include <algorithm>

#include <fmt/format.h>

#include "operator/reconcile/decide/job_decision.h"
#include "operator/reconcile/decide/progress_status.h"

namespace sailor {
namespace {

using kube::Json;
using kube::text_at;

constexpr std::size_t kKept = 10;
constexpr std::size_t kLongestMessage = 300;  // there are ten of them in the status

std::string seconds_text(double seconds) { return fmt::format("{:.3f}", std::max(0.0, seconds)); }

bool is_open(const Json& entry) { return !entry.contains("seconds") && !entry.contains("withdrawn"); }

Json new_entry(const GenerationRecord& record) {
  return {{"time", to_rfc3339(record.decided)},
          {"reason", record.reason},
          {"message", record.message.substr(0, kLongestMessage)},
          {"fromGeneration", record.from_generation},
          {"toGeneration", record.generation},
          {"fromGpus", record.from_gpus},
          {"toGpus", record.parks ? 0 : gpu_count(record.plan)},
          {"parts",
           {{"detect", seconds_text(seconds_between(record.caused, record.asked))},
            {"plan", seconds_text(seconds_between(record.asked, record.decided))}}}};
}

// A park that only comes before a start with other pods is a part of that change.
bool is_listed(const GenerationRecord& record) {
  return record.from_generation > 0 && (!record.parks || is_pause(record));
}

bool is_of_an_open_change(const Observation& seen, const JobProgress& progress) {
  const Json& entries = kube::list_at(seen.job.status, {"rescales"});
  if (entries.empty() || !is_open(entries.back())) return false;
  return progress.generation >= kube::integer_at(entries.back(), {"toGeneration"});
}

bool someone_holds_state(const Observation& seen) {
  return std::ranges::any_of(seen.agents, [](const auto& agent) { return holds_state(agent.second); });
}

// What is left of the whole once all else is taken off is the time in which messages go to and fro.
void tell_parts(const GenerationRecord& record, const RegroupTimes& times, double seconds, Json& entry) {
  Json& parts = entry["parts"];
  const double pods = record.is_sealed() ? seconds_between(record.decided, record.sealed) : 0;
  double rest = seconds - decimal_at(parts, {"detect"}) - decimal_at(parts, {"plan"}) - pods;
  rest -= times.regroup_seconds + times.transfer_seconds + times.first_step_seconds;
  parts["pods"] = seconds_text(pods);
  parts["push"] = seconds_text(rest);
  parts["regroup"] = seconds_text(times.regroup_seconds);
  parts["transfer"] = seconds_text(times.transfer_seconds);
  parts["firstStep"] = seconds_text(times.first_step_seconds);
}

void close_entry(const Observation& seen, const GenerationRecord& record, const JobProgress& progress, Json& entry) {
  const bool is_newest = kube::integer_at(entry, {"toGeneration"}) == record.generation;
  const Time cause = is_newest ? record.caused : parse_rfc3339(text_at(entry, {"time"})).value_or(seen.now);
  const double seconds = std::max(0.0, seconds_between(cause, seen.now));
  entry["seconds"] = seconds_text(seconds);
  entry["stoppedSeconds"] = seconds_text(progress.times.stopped_seconds);
  entry["stepsLost"] = steps_lost(seen, progress);
  entry["source"] = std::string(to_string(progress.source));
  entry["followedBytes"] = progress.streamed_bytes;
  entry["movedBytes"] = progress.moved_bytes;
  if (is_newest) tell_parts(record, progress.times, seconds, entry);
}

// A job that is parked has no first step: its state is saved.
void close_park(const Observation& seen, const GenerationRecord& record, Json& entry) {
  entry["seconds"] = seconds_text(seconds_between(record.caused, seen.now));
  entry["stepsLost"] = 0;
}

}  // namespace

bool completes_a_rescale(const Observation& seen, const JobProgress& progress) {
  return is_of_an_open_change(seen, progress) && progress.step > progress.resumed_step;
}

bool is_before_first_step(const Observation& seen, const JobProgress& progress) {
  return is_of_an_open_change(seen, progress) && progress.step <= progress.resumed_step;
}

std::int64_t steps_lost(const Observation& seen, const JobProgress& progress) {
  const std::int64_t reached = kube::integer_at(seen.job.status, {"progress", "step"});
  return std::max(progress.steps_lost, reached - progress.resumed_step);
}

Json rescales_status(const Observation& seen, const std::optional<GenerationRecord>& record) {
  Json entries = kube::list_at(seen.job.status, {"rescales"});
  if (!record) return entries;
  if (!entries.empty() && is_open(entries.back())) {
    Json& last = entries.back();
    const auto told = kube::integer_at(last, {"toGeneration"});
    const auto progress = newest_progress(seen);
    if (told > record->generation) {
      last["withdrawn"] = true;
    } else if (progress && completes_a_rescale(seen, *progress)) {
      close_entry(seen, *record, *progress, last);
    } else if (record->parks && told == record->generation && !someone_holds_state(seen)) {
      close_park(seen, *record, last);
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
