// JobStatus: the status of a TrainingJob, which users and their scripts read. The observer parses it from JSON, and the
// applier writes it back. In JSON, decimals are strings.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/ids.h"
#include "core/protocol/agent_report.h"
#include "operator/kube/object.h"
#include "operator/kube/time.h"
#include "operator/model/conditions.h"
#include "operator/model/lost_cause.h"

namespace sailor {

// A summary of the newest plan.
struct PlanStatus {
  std::int64_t generation = 0;
  std::string hash;
  std::string config_map;
  int total_gpus = 0;
  std::map<PoolKey, int> gpus;
  double iteration_seconds = 0;  // an estimate, like the three fields below
  std::int64_t tokens_per_second = 0;
  double cost_per_iteration = 0;  // dollars
  double cost_per_hour = 0;       // dollars
};

// The newest progress that the trainers reported.
struct StepStatus {
  std::int64_t step = 0;
  double loss = 0;        // mean over the tokens of this step, in nats
  double first_loss = 0;  // that of the job's first step
  std::optional<double> validation_loss;
  std::int64_t steps_skipped = 0;  // their gradients were not finite, so they were not applied
  std::int64_t tokens_per_second = 0;
  std::int64_t began_at_step = 0;  // the step of the other job's checkpoint with which the job began; 0: with none
  std::int64_t tokens = 0;         // of all steps since `began_at_step`; a repeated step counts once
  std::int64_t last_checkpoint_step = 0;  // 0: there is no complete checkpoint
  std::int64_t steps_lost = 0;            // by all rescales
};

// The progress of the job and its cost so far.
struct ProgressStatus {
  std::optional<Time> time;    // the dollars and seconds below are counted up to this time
  double dollars_spent = 0;    // for GPUs and traffic
  double traffic_dollars = 0;  // the part for traffic
  // What the job costs per hour at present, for the GPUs of its running pods and for traffic; 0: it has none, or ended.
  double dollars_per_hour = 0;
  double saved_dollars = 0;    // what the GPUs would have cost on demand, less what they have cost
  double elapsed_seconds = 0;  // since the first plan; excludes the time in which the job was suspended
  double useful_seconds = 0;   // the time of the steps up to `furthest_step`; a repeated step counts once
  // The elapsed time that was not useful. While the job trains, up to two steps in flight are in neither.
  std::map<LostCause, double> lost_seconds;
  std::optional<std::int64_t> furthest_step;
  std::optional<std::int64_t> total_steps;
  std::optional<StepStatus> newest;  // empty: no trainer has reported a step yet
};

// The consecutive parts of a rescale: from the first sign of the cause to the question to the planner (kDetect), to the
// decision (kPlan), until all pods answer (kPods), until the workers stop (kPush: messages, and state that joining
// workers receive in advance), until the workers are connected (kRegroup), until they have their state (kTransfer), and
// until the first step is done (kFirstStep).
enum class RescalePart : std::uint8_t { kDetect, kPlan, kPods, kPush, kRegroup, kTransfer, kFirstStep };
inline constexpr std::array kRescaleParts = {RescalePart::kDetect,   RescalePart::kPlan,    RescalePart::kPods,
                                             RescalePart::kPush,     RescalePart::kRegroup, RescalePart::kTransfer,
                                             RescalePart::kFirstStep};
std::string_view to_string(RescalePart part);  // "detect", "plan", ...

// A rescale: the change from one generation to the next one that trains, or that releases the GPUs.
struct RescaleStatus {
  Time time;  // when the newer generation was made
  Reason reason = Reason::kNotYetKnown;
  std::string message;
  std::int64_t from_generation = 0;
  std::int64_t to_generation = 0;
  int from_gpus = 0;
  int to_gpus = 0;
  std::map<RescalePart, double> parts;  // seconds
  bool is_withdrawn = false;            // the older generation trained on instead
  bool is_interrupted = false;          // a later change, or the end of the job, came before it was complete
  // The fields below are set once the change is complete.
  std::optional<double> seconds;          // the time from the first sign of the cause to the end of the first step
  std::optional<double> stopped_seconds;  // the downtime; empty: it is not known, or the change releases the GPUs
  // Empty: the change releases the GPUs, and not all steps are known to be saved. The next change then counts them.
  std::optional<std::int64_t> steps_lost;
  std::optional<StateSource> source;
  std::optional<std::int64_t> streamed_bytes;  // the state that workers received before the downtime
  std::optional<std::int64_t> moved_bytes;     // the state that moved between workers during the downtime

  [[nodiscard]] bool is_in_progress() const { return !seconds && !is_withdrawn && !is_interrupted; }
};

struct ConditionStatus {
  Condition condition;
  std::int64_t observed_spec_generation = 0;  // observedGeneration in JSON: the metadata.generation of the job
  std::optional<Time> last_transition;
};

struct JobStatus {
  std::int64_t observed_spec_generation = 0;  // observedGeneration in JSON: the metadata.generation of the job
  std::string state;                          // a summary of the conditions in one word, for people
  std::string reason;                         // the reason of the condition that `state` is about
  std::map<ConditionType, ConditionStatus> conditions;
  int restarts = 0;
  std::optional<Time> start_time;
  std::optional<Time> completion_time;
  std::optional<PlanStatus> plan;
  std::optional<ProgressStatus> progress;
  std::vector<RescaleStatus> rescales;  // oldest first
  std::vector<std::string> unpriced_pools;
  std::vector<std::string> pools_of_unknown_accelerators;
  std::vector<std::string> pools_without_kernels;

  [[nodiscard]] const ConditionStatus* find(ConditionType type) const;  // null: the status has no such condition
  [[nodiscard]] bool is_true(ConditionType type) const;
  [[nodiscard]] bool has_ended() const;    // complete or failed
  [[nodiscard]] bool has_stopped() const;  // has ended, or is suspended: it holds no GPUs
};

// A missing or damaged field gets its default value; parsing never fails.
JobStatus job_status_from_json(const kube::Json& json);
kube::Json to_json(const JobStatus& status);

}  // namespace sailor
