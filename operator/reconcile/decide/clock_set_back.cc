#include "operator/reconcile/decide/clock_set_back.h"

#include <algorithm>

#include "operator/reconcile/decide/trainer_failures.h"

namespace sailor {
namespace {

// The clocks of two machines may differ by this much without harm.
constexpr std::chrono::minutes kTolerance{1};

// Returns when the quarantine began, or an earlier time if its length is unknown.
Time beginning_of(const QuarantinedNode& node, const OperatorSettings& settings) {
  return std::max(node.since, node.until - std::max(node.duration, settings.start_limit));
}

Time newest_time(const GenerationRecord& record, const OperatorSettings& settings) {
  Time newest = std::max(record.decided_at, record.committed_at);
  const auto add = [&](Time time) { newest = std::max(newest, time); };
  if (record.running) add(record.running->committed_at);
  add(record.not_before - restart_delay(record.restarts));
  for (const QuarantinedNode& node : record.quarantined_nodes) add(beginning_of(node, settings));
  for (const PoolRefusal& refusal : record.pool_refusals) add(refusal.since);
  for (const SlowGpu& slow : record.slow_gpus) add(slow.since);
  add(record.forgone.since);
  return newest;
}

void move_back(Time& time, std::chrono::milliseconds by) {
  if (time != Time()) time -= by;
}

void move_back(Generation& generation, std::chrono::milliseconds by) {
  move_back(generation.caused_at, by);
  move_back(generation.leave_by, by);
  move_back(generation.asked_at, by);
  move_back(generation.decided_at, by);
  move_back(generation.committed_at, by);
}

void move_back_all(GenerationRecord& record, std::chrono::milliseconds by) {
  move_back(static_cast<Generation&>(record), by);
  if (record.running) move_back(*record.running, by);
  move_back(record.not_before, by);
  for (QuarantinedNode& node : record.quarantined_nodes) {
    move_back(node.since, by);
    move_back(node.until, by);
  }
  for (PoolRefusal& refusal : record.pool_refusals) {
    move_back(refusal.since, by);
    move_back(refusal.until, by);
  }
  for (SlowGpu& slow : record.slow_gpus) {
    move_back(slow.since, by);
    move_back(slow.slow_until, by);
  }
  move_back(record.forgone.since, by);
  move_back(record.forgone.change_at, by);
}

}  // namespace

std::optional<Observation> with_corrected_times(const Observation& observation) {
  if (!observation.record) return std::nullopt;
  const auto ahead = newest_time(*observation.record, observation.settings) - observation.now;
  if (ahead <= kTolerance) return std::nullopt;
  Observation corrected = observation;
  move_back_all(corrected.record.value(), ahead);
  corrected.is_record_imported = true;  // like an imported record, the corrected one is not stored yet
  return corrected;
}

}  // namespace sailor
