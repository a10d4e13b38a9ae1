// JobSpec: the spec of a TrainingJob without the pod template, validated and with defaults filled in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/model/ids.h"
#include "core/model/model_spec.h"
#include "core/model/units.h"

namespace sailor {

enum class Precision { kFp32, kBf16 };
enum class ActivationCheckpointing { kNever, kAlways, kAuto };
enum class SequenceParallelism { kNever, kAlways };
enum class LearningRateSchedule { kConstant, kCosine, kLinear };
enum class OnNonFinite { kStop, kSkip };  // what happens after a loss or gradient that is NaN or infinite
enum class DataFormat { kBytes, kTokens, kMegatron };
enum class ProvisioningPolicy { kAny, kSpot, kOnDemand };
enum class ElasticityMode { kLive, kRestart, kOff };
// kPeer: state that only one node holds is also kept in the memory of another node. kAuto: the planner keeps it there
// if that costs less than the failures of nodes are expected to cost without it.
enum class Redundancy { kAuto, kNone, kPeer };
// Whether changes of plan, and the interval of automatic checkpoints, follow how long nodes have lived of late
// (planner/replan/look_ahead.h). kAuto: once enough nodes were lost to tell.
enum class LookAhead { kAuto, kOff, kOn };

// Whether the job's setting allows a plan that has peer replicas (`has_peer_replicas`), or one that has none.
bool allows_peer_replicas(Redundancy setting, bool has_peer_replicas);

// Returns whether the job's setting allows a plan that recomputes activations (`recomputes`), or one that does not.
// Auto allows both.
bool allows_recomputation(ActivationCheckpointing setting, bool recomputes);

struct OptimizerSpec {  // AdamW
  double learning_rate = 3e-4;
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  std::int64_t warmup_steps = 0;
  LearningRateSchedule schedule = LearningRateSchedule::kConstant;
  std::optional<double> clip_norm;  // absent: gradients are not clipped
  friend bool operator==(const OptimizerSpec&, const OptimizerSpec&) = default;
};

// Evaluation on the validation data during training.
struct EvaluationSpec {
  std::int64_t every_steps = 100;
  int batches = 1;  // each of the size of the global batch
  friend bool operator==(const EvaluationSpec&, const EvaluationSpec&) = default;
};

struct TrainingSpec {
  int global_batch_size = 0;          // sequences in an optimizer step; a new plan never changes it
  int sequence_length = 0;            // tokens
  std::vector<int> microbatch_sizes;  // the sizes that the planner may choose; ascending, never empty
  Precision precision = Precision::kFp32;
  ActivationCheckpointing activation_checkpointing = ActivationCheckpointing::kNever;
  SequenceParallelism sequence_parallelism = SequenceParallelism::kNever;
  OptimizerSpec optimizer;
  std::int64_t steps = 0;
  std::uint64_t seed = 1;
  std::string initial_weights;  // safetensors file or folder in the trainer's container; empty: random from the seed
  OnNonFinite on_non_finite = OnNonFinite::kStop;
  std::optional<EvaluationSpec> evaluation;  // absent: no evaluation
  friend bool operator==(const TrainingSpec&, const TrainingSpec&) = default;

  [[nodiscard]] bool uses_sequence_parallelism() const { return sequence_parallelism == SequenceParallelism::kAlways; }
};

// Data that is never trained on: either separate files, or the last part of the data.
struct ValidationSpec {
  std::string path;                // files in the format of the data; empty if a fraction is set
  std::optional<double> fraction;  // this fraction of the data, at its end
  friend bool operator==(const ValidationSpec&, const ValidationSpec&) = default;
};

struct DataSpec {
  DataFormat format = DataFormat::kBytes;
  std::string path;  // a file or a pattern in the trainer's container
  std::optional<ValidationSpec> validation;
  friend bool operator==(const DataSpec&, const DataSpec&) = default;
};

// An absent limit does not limit anything; a limit of zero does.
struct MaximizeThroughput {
  std::optional<Dollars> max_cost_per_iteration;
  std::optional<DollarsPerHour> max_cost_per_hour;
  friend bool operator==(const MaximizeThroughput&, const MaximizeThroughput&) = default;
};
struct MinimizeCost {
  std::optional<double> min_throughput;  // iterations per second
  friend bool operator==(const MinimizeCost&, const MinimizeCost&) = default;
};
using Objective = std::variant<MaximizeThroughput, MinimizeCost>;

struct ResourceSpec {
  std::vector<Accelerator> accelerators;  // empty: any
  std::vector<Zone> zones;                // empty: any
  ProvisioningPolicy provisioning = ProvisioningPolicy::kAny;
  int min_gpus = 1;
  std::optional<int> max_gpus;
  friend bool operator==(const ResourceSpec&, const ResourceSpec&) = default;

  [[nodiscard]] bool allows(const PoolKey& pool) const;
};

// Another job of the same namespace and checkpoint path, whose state a job begins with. It may have been deleted.
struct ResumeFrom {
  std::string job;
  std::optional<std::int64_t> step;  // absent: its newest checkpoint
  friend bool operator==(const ResumeFrom&, const ResumeFrom&) = default;
};

struct CheckpointSpec {
  std::string path;  // empty: no checkpoints
  std::optional<std::int64_t> every_steps;
  int keep = 3;
  std::optional<std::int64_t> every_seconds;  // a checkpoint also starts after the step in which the newest is so old
  std::optional<ResumeFrom> resume_from;      // absent: the job begins with initial weights at step 0
  friend bool operator==(const CheckpointSpec&, const CheckpointSpec&) = default;

  // True: the interval follows from how long writing takes and how often nodes fail (checkpoint_interval.h).
  [[nodiscard]] bool is_automatic() const { return !every_steps && !every_seconds; }
};

// By how many percent steps may take longer while workers receive the state of the next plan, if the job does not say.
inline constexpr int kStreamingSlowdownPercent = 10;

struct JobSpec {
  JobKey key;
  ModelSpec model;
  TrainingSpec training;
  DataSpec data;
  Objective objective;
  ResourceSpec resources;
  ElasticityMode elasticity = ElasticityMode::kLive;
  Redundancy redundancy = Redundancy::kAuto;
  LookAhead look_ahead = LookAhead::kAuto;
  int streaming_slowdown_percent = kStreamingSlowdownPercent;  // see Assignment
  CheckpointSpec checkpoint;
  bool suspend = false;
  std::string managed_by;  // the controller that owns the job; empty: Sailor
  int max_restarts = 10;
  std::optional<Seconds> active_deadline;
  std::optional<Seconds> ttl_after_finished;
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

}  // namespace sailor
