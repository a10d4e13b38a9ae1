// JobMetrics: the metrics of a job. docs/monitoring.md lists them. Users' dashboards and alerts rely on the names.
#pragma once

#include <cstdint>

namespace sailor {

enum class MetricKind : std::uint8_t {
  kCounter,  // never decreases, and stays as long as the job exists
  kAmount,   // a gauge that is summed over jobs: it becomes 0 when the job has none of it
  kValue,    // a gauge that is not summed: its series goes when the job has no such value
};

struct JobMetric {
  const char* name;
  const char* help;
  MetricKind kind;
};

namespace job_metrics {

using enum MetricKind;

inline constexpr JobMetric kState{"sailor_job_state", "1 for the present state of the job, 0 for earlier ones.",
                                  kAmount};
inline constexpr JobMetric kStep{"sailor_job_step", "Optimizer steps done.", kValue};
inline constexpr JobMetric kStepsTarget{"sailor_job_steps_target", "Optimizer steps that the job is to do.", kValue};
inline constexpr JobMetric kCheckpointStep{"sailor_job_checkpoint_step",
                                           "Step of the newest complete checkpoint; 0: there is none.", kValue};
inline constexpr JobMetric kLoss{"sailor_job_loss", "Mean loss of the last step, nats per token.", kValue};
inline constexpr JobMetric kValidationLoss{"sailor_job_validation_loss",
                                           "Mean loss of the newest evaluation, nats per token.", kValue};
inline constexpr JobMetric kSkippedSteps{
    "sailor_job_skipped_steps", "Steps of the newest plan skipped because of a non-finite loss or gradient.", kValue};
inline constexpr JobMetric kTokens{"sailor_job_tokens_total", "Tokens trained on.", kCounter};
inline constexpr JobMetric kTokensPerSecond{"sailor_job_tokens_per_second", "Measured speed.", kAmount};
inline constexpr JobMetric kPlannedTokensPerSecond{"sailor_job_planned_tokens_per_second",
                                                   "Speed that the planner expects.", kAmount};
inline constexpr JobMetric kMfu{"sailor_job_mfu_ratio",
                                "Floating-point operations of the model per second over the peak rate of its GPUs.",
                                kValue};
inline constexpr JobMetric kStageSeconds{
    "sailor_job_stage_seconds", "Time of a pass over one microbatch in the slowest replica of a stage, as planned.",
    kValue};
inline constexpr JobMetric kGpus{"sailor_job_gpus", "GPUs of the plan that the job trains by.", kAmount};
inline constexpr JobMetric kStragglerRatio{"sailor_job_straggler_ratio",
                                           "Time of a pass on the slowest GPU of a node over its usual time.", kValue};
inline constexpr JobMetric kDollars{"sailor_job_cost_dollars_total", "US dollars so far, by kind: gpu or traffic.",
                                    kCounter};
inline constexpr JobMetric kSaved{"sailor_job_saved_dollars",
                                  "What the GPUs would have cost on demand, less what they have cost, US dollars.",
                                  kValue};
inline constexpr JobMetric kDollarsPerHour{"sailor_job_cost_dollars_per_hour",
                                           "US dollars per hour at present: the GPUs of the running pods, and traffic.",
                                           kAmount};
inline constexpr JobMetric kDollarsPerMillionTokens{"sailor_job_cost_dollars_per_million_tokens",
                                                    "US dollars so far per million tokens.", kValue};
inline constexpr JobMetric kBudget{"sailor_job_budget_dollars",
                                   "US dollars that all steps may cost: maxCostPerIteration times the steps.", kValue};
inline constexpr JobMetric kBudgetPerHour{"sailor_job_budget_dollars_per_hour",
                                          "US dollars per hour that the job may cost: maxCostPerHour.", kValue};
inline constexpr JobMetric kGoodput{
    "sailor_job_goodput_ratio",
    "Share of the job's time that went into steps that count; excludes the time in which it was suspended.", kValue};
inline constexpr JobMetric kGoodputOfHour{"sailor_job_goodput_ratio_1h", "The same for the last hour.", kValue};
inline constexpr JobMetric kUsefulSeconds{"sailor_job_useful_seconds_total",
                                          "Time of steps that count; a repeated step counts once.", kCounter};
inline constexpr JobMetric kLostSeconds{"sailor_job_lost_seconds_total",
                                        "The job's other time, by cause; excludes the time in which it was suspended.",
                                        kCounter};
inline constexpr JobMetric kGeneration{"sailor_job_generation", "Number of the newest plan.", kValue};
inline constexpr JobMetric kPlanTime{"sailor_job_plan_timestamp_seconds",
                                     "When the newest plan was made, in seconds since 1970.", kValue};
inline constexpr JobMetric kBoundRatio{"sailor_plan_bound_ratio",
                                       "Throughput of the plan over a bound that no plan exceeds.", kValue};
inline constexpr JobMetric kRestarts{"sailor_job_restarts_total", "Failures that count against maxRestarts.", kCounter};
inline constexpr JobMetric kRescales{"sailor_job_rescales_total", "Changes from one plan to the next.", kCounter};
inline constexpr JobMetric kLostSteps{"sailor_job_lost_steps_total", "Steps that had to be repeated.", kCounter};

inline constexpr const JobMetric* kAll[] = {&kState,
                                            &kStep,
                                            &kStepsTarget,
                                            &kCheckpointStep,
                                            &kLoss,
                                            &kValidationLoss,
                                            &kSkippedSteps,
                                            &kTokens,
                                            &kTokensPerSecond,
                                            &kPlannedTokensPerSecond,
                                            &kMfu,
                                            &kStageSeconds,
                                            &kGpus,
                                            &kStragglerRatio,
                                            &kDollars,
                                            &kSaved,
                                            &kDollarsPerHour,
                                            &kDollarsPerMillionTokens,
                                            &kBudget,
                                            &kBudgetPerHour,
                                            &kGoodput,
                                            &kGoodputOfHour,
                                            &kUsefulSeconds,
                                            &kLostSeconds,
                                            &kGeneration,
                                            &kPlanTime,
                                            &kBoundRatio,
                                            &kRestarts,
                                            &kRescales,
                                            &kLostSteps};

}  // namespace job_metrics
}  // namespace sailor
