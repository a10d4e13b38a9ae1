// JobSpec: what a TrainingJob asks for (its spec without the pod template), checked and with defaults filled in.
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
enum class OnNonFinite { kStop, kSkip };  // a loss or gradient that is no number
enum class DataFormat { kBytes, kTokens, kMegatron };
enum class ProvisioningPolicy { kAny, kSpot, kOnDemand };
enum class ElasticityMode { kLive, kRestart, kOff };
enum class Redundancy { kNone, kPeer };  // of the state that one node alone holds: a copy in another one's memory

// Whether a plan that recomputes activations, or one that does not, is what the job wishes; Auto leaves it to the plan.
bool may_recompute(ActivationCheckpointing wish, bool recomputes);

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

struct EvaluationSpec {  // of the validation data, while training
  std::int64_t every_steps = 100;
  int batches = 1;  // of the global batch's size
  friend bool operator==(const EvaluationSpec&, const EvaluationSpec&) = default;
};

struct TrainingSpec {
  int global_batch_size = 0;          // sequences in an optimizer step; no re-plan ever changes it
  int sequence_length = 0;            // tokens
  std::vector<int> microbatch_sizes;  // what the planner may choose from, ascending, never empty
  Precision precision = Precision::kFp32;
  ActivationCheckpointing activation_checkpointing = ActivationCheckpointing::kNever;
  SequenceParallelism sequence_parallelism = SequenceParallelism::kNever;
  OptimizerSpec optimizer;
  std::int64_t steps = 0;
  std::uint64_t seed = 1;
  std::string initial_weights;  // folder or file of safetensors, seen from the trainer; empty: drawn from the seed
  OnNonFinite on_non_finite = OnNonFinite::kStop;
  std::optional<EvaluationSpec> evaluation;  // absent: no evaluation
  friend bool operator==(const TrainingSpec&, const TrainingSpec&) = default;

  [[nodiscard]] bool uses_sequence_parallelism() const { return sequence_parallelism == SequenceParallelism::kAlways; }
};

struct ValidationSpec {  // data that is never trained on: either files of their own, or the end of the data
  std::string path;      // of the data's format; empty where a fraction is held back
  std::optional<double> fraction;
  friend bool operator==(const ValidationSpec&, const ValidationSpec&) = default;
};

struct DataSpec {
  DataFormat format = DataFormat::kBytes;
  std::string path;  // a file or a pattern, seen from inside the trainer's container
  std::optional<ValidationSpec> validation;
  friend bool operator==(const DataSpec&, const DataSpec&) = default;
};

// Absent limits are no limits; a limit of zero is a limit.
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

struct CheckpointSpec {
  std::string path;  // empty: no checkpoints
  std::int64_t every_steps = 100;
  int keep = 3;
  friend bool operator==(const CheckpointSpec&, const CheckpointSpec&) = default;
};

struct JobSpec {
  JobKey key;
  ModelSpec model;
  TrainingSpec training;
  DataSpec data;
  Objective objective;
  ResourceSpec resources;
  ElasticityMode elasticity = ElasticityMode::kLive;
  Redundancy redundancy = Redundancy::kNone;
  CheckpointSpec checkpoint;
  bool suspend = false;
  std::string managed_by;  // another controller owns the job; empty: we do
  int max_restarts = 10;
  std::optional<Seconds> active_deadline;
  std::optional<Seconds> ttl_after_finished;
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

}  // namespace sailor
