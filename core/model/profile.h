// Profiles: measured time and memory of a model's layers on one accelerator.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/model/ids.h"
#include "core/model/job_spec.h"
#include "core/model/units.h"

namespace sailor {

// The time of one microbatch in one layer on one tensor-parallel group, including its all-reduces.
struct LayerTime {
  Seconds forward;
  Seconds backward;
  Seconds update;  // the update of the optimizer, once per step
  friend bool operator==(const LayerTime&, const LayerTime&) = default;
};

// The memory of one layer on one GPU of the group.
struct LayerMemory {
  double parameters = 0;         // count
  Bytes activations_per_sample;  // kept for the backward pass
  Bytes output_per_sample;       // sent to the next stage
  friend bool operator==(const LayerMemory&, const LayerMemory&) = default;
};

struct ProfilePoint {
  int microbatch_size = 1;
  int tensor_parallel = 1;
  friend auto operator<=>(const ProfilePoint&, const ProfilePoint&) = default;
};

struct ModelProfile {
  std::string model;  // name in the catalogue, or the name of the job's own configuration (`config.name`)
  Accelerator accelerator;
  Precision precision = Precision::kFp32;
  int sequence_length = 0;
  SequenceParallelism sequence_parallelism = SequenceParallelism::kNever;
  std::map<ProfilePoint, std::vector<LayerTime>> times;  // one LayerTime per layer, including embedding and head
  std::map<int, std::vector<LayerMemory>> memory;  // the key is tensor_parallel; empty: computed from the model's shape
  std::string source;                              // who measured, when and on what hardware
  friend bool operator==(const ModelProfile&, const ModelProfile&) = default;
};

// All measured profiles. It never guesses: where it has no profile, the simulator computes one analytically.
class ProfileBook {
 public:
  // Replaces an earlier profile of the same model, accelerator, precision, sequence length and sequence parallelism.
  void add(ModelProfile profile);
  // Returns a profile for the job, or null. A job with sequence parallelism gets a profile that was measured with it,
  // else one that was measured without it. A job without it gets only a profile that was measured without it.
  [[nodiscard]] const ModelProfile* find(const JobSpec& job, const Accelerator& accelerator) const;
  [[nodiscard]] const std::vector<ModelProfile>& profiles() const { return profiles_; }

 private:
  std::vector<ModelProfile> profiles_;
};

}  // namespace sailor
