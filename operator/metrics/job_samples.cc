#include "operator/metrics/job_samples.h"

#include <algorithm>

#include "core/model/training_flops.h"
#include "operator/model/observation_queries.h"

namespace sailor {
namespace {

using namespace job_metrics;  // NOLINT(google-build-using-namespace): their names begin like those of other constants
using Samples = std::vector<JobSample>;

// Returns the newest plan if the job holds its GPUs, or is to get them. Null: it waits, is suspended, or has ended.
const PlanStatus* active_plan(const JobStatus& status) {
  return status.plan && !status.has_ended() ? &*status.plan : nullptr;
}

FlopsPerSecond peak_of(const PlanStatus& plan, Precision precision, const AcceleratorBook& accelerators) {
  FlopsPerSecond peak;
  for (const auto& [pool, gpus] : plan.gpus) {
    const AcceleratorSpec* gpu = accelerators.find(pool.accelerator);
    if (gpu != nullptr) peak += (precision == Precision::kBf16 ? gpu->bf16 : gpu->fp32) * gpus;
  }
  return peak;
}

// Returns nothing if no worker has reported yet.
const StepStatus* newest_step(const JobStatus& status) {
  return status.progress && status.progress->newest ? &status.progress->newest.value() : nullptr;
}

void add_spec(const JobSpec& job, const JobStatus& status, Samples& samples) {
  const auto steps = static_cast<double>(job.training.steps);
  samples.push_back({&kStepsTarget, steps});
  if (!job.checkpoint.path.empty()) {
    const StepStatus* newest = newest_step(status);
    const std::int64_t step = newest == nullptr ? 0 : newest->last_checkpoint_step;
    samples.push_back({&kCheckpointStep, static_cast<double>(step)});
  }
  const auto* limits = std::get_if<MaximizeThroughput>(&job.objective);
  if (limits == nullptr) return;
  if (const auto& limit = limits->max_cost_per_iteration) samples.push_back({&kBudget, limit->value() * steps});
  if (const auto& limit = limits->max_cost_per_hour) samples.push_back({&kBudgetPerHour, limit->value()});
}

void add_step(const StepStatus& newest, Samples& samples) {
  samples.push_back({&kLoss, newest.loss});
  if (newest.validation_loss) samples.push_back({&kValidationLoss, *newest.validation_loss});
  samples.push_back({&kSkippedSteps, static_cast<double>(newest.steps_skipped)});
  samples.push_back({&kTokens, static_cast<double>(newest.tokens)});
  samples.push_back({&kLostSteps, static_cast<double>(newest.steps_lost)});
}

void add_progress(const ProgressStatus& progress, Samples& samples) {
  samples.push_back({&kDollars, progress.dollars_spent - progress.traffic_dollars, {{"kind", "gpu"}}});
  samples.push_back({&kDollars, progress.traffic_dollars, {{"kind", "traffic"}}});
  samples.push_back({&kSaved, progress.saved_dollars});
  samples.push_back({&kUsefulSeconds, progress.useful_seconds});
  for (const LostCause cause : kLostCauses) {
    const auto lost = progress.lost_seconds.find(cause);
    const double seconds = lost == progress.lost_seconds.end() ? 0 : lost->second;
    samples.push_back({&kLostSeconds, seconds, {{"cause", std::string(to_string(cause))}}});
  }
  const double elapsed = progress.elapsed_seconds;
  if (elapsed > 0) samples.push_back({&kGoodput, std::min(1.0, progress.useful_seconds / elapsed)});
  if (!progress.newest) return;
  add_step(*progress.newest, samples);
  const auto tokens = static_cast<double>(progress.newest->tokens);
  if (tokens > 0) samples.push_back({&kDollarsPerMillionTokens, progress.dollars_spent / tokens * 1e6});
}

// The speed at which the job trains now.
void add_speed(const Observation& observation, const PlanStatus& plan, const StepStatus& newest, Samples& samples) {
  const auto tokens_per_second = static_cast<double>(newest.tokens_per_second);
  samples.push_back({&kTokensPerSecond, tokens_per_second});
  if (!observation.job.spec) return;
  const JobSpec& job = *observation.job.spec;
  const FlopsPerSecond peak = peak_of(plan, job.training.precision, observation.cluster->accelerators);
  if (peak > FlopsPerSecond(0)) samples.push_back({&kMfu, model_flops_utilization(job, tokens_per_second, peak)});
}

double seconds_of(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

void add_stages(const ScheduleTimes& times, Samples& samples) {
  for (std::size_t stage = 0; stage < times.replicas.size(); ++stage) {
    ReplicaTimes slowest;
    for (const ReplicaTimes& replica : times.replicas[stage]) {
      slowest.forward = std::max(slowest.forward, replica.forward);
      slowest.backward = std::max(slowest.backward, replica.backward);
    }
    const std::string name = std::to_string(stage);
    samples.push_back({&kStageSeconds, seconds_of(slowest.forward), {{"stage", name}, {"part", "forward"}}});
    samples.push_back({&kStageSeconds, seconds_of(slowest.backward), {{"stage", name}, {"part", "backward"}}});
  }
}

void add_speeds(const Observation& observation, Samples& samples) {
  for (const NodeView& node : observation.cluster->nodes) {
    double slowest = 0;
    for (const auto& [gpu, speed] : observation.gpu_speeds) {
      if (gpu.node_uid == node.uid) slowest = std::max(slowest, speed.newest);
    }
    if (slowest > 0) samples.push_back({&kStragglerRatio, slowest, {{"node", node.name}}});
  }
}

void add_plan(const Observation& observation, const PlanStatus& plan, Samples& samples) {
  samples.push_back({&kGeneration, static_cast<double>(plan.generation)});
  samples.push_back({&kPlannedTokensPerSecond, static_cast<double>(plan.tokens_per_second)});
  for (const auto& [pool, gpus] : plan.gpus) {
    samples.push_back(
        {&kGpus,
         static_cast<double>(gpus),
         {{"pool", to_string(pool)}, {"accelerator", pool.accelerator.str()}, {"zone", pool.zone.str()}}});
  }
  if (!observation.record || observation.record->in_use().generation != plan.generation) return;
  const Generation& generation = observation.record->in_use();
  samples.push_back({&kPlanTime, seconds_of(generation.decided_at.time_since_epoch())});
  samples.push_back({&kBoundRatio, generation.summary.bound_ratio});
  if (generation.schedule_times) add_stages(*generation.schedule_times, samples);
}

}  // namespace

std::vector<JobSample> job_samples(const Observation& observation, const JobStatus& status) {
  Samples samples;
  if (!status.state.empty()) samples.push_back({&kState, 1, {{"state", status.state}}});
  const StepStatus* newest = newest_step(status);
  samples.push_back({&kStep, newest == nullptr ? 0 : static_cast<double>(newest->step)});
  samples.push_back({&kRestarts, static_cast<double>(status.restarts)});
  samples.push_back({&kDollarsPerHour, dollars_per_hour(observation)});
  if (observation.job.spec) add_spec(*observation.job.spec, status, samples);
  if (status.progress) add_progress(*status.progress, samples);
  const PlanStatus* plan = active_plan(status);
  if (plan == nullptr) return samples;
  add_plan(observation, *plan, samples);
  add_speeds(observation, samples);
  if (newest != nullptr && status.is_true(ConditionType::kRunning)) add_speed(observation, *plan, *newest, samples);
  return samples;
}

}  // namespace sailor
