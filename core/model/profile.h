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

// One microbatch through one layer, on one tensor-parallel group, its all-reduces included.
struct LayerTime {
  Seconds forward;
  Seconds backward;
  Seconds update;  // the optimizer, once a step
  friend bool operator==(const LayerTime&, const LayerTime&) = default;
};

// Memory of one layer on one GPU of the group.
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
  std::string model;  // catalogue name, or metadata.name of the job's own configuration (config's `name`)
  Accelerator accelerator;
  Precision precision = Precision::kFp32;
  int sequence_length = 0;
  SequenceParallelism sequence_parallelism = SequenceParallelism::kNever;
  std::map<ProfilePoint, std::vector<LayerTime>> times;  // one LayerTime a layer, embedding and head included
  std::map<int, std::vector<LayerMemory>> memory;        // by tensor_parallel; empty: take the model's shape
  std::string source;                                    // who measured, when, on what
  friend bool operator==(const ModelProfile&, const ModelProfile&) = default;
};

// All measured profiles that are known. A question it has no answer to is answered analytically, never by a guess here.
class ProfileBook {
 public:
  void add(ModelProfile profile);  // a later profile of the same in all but figures and source replaces one
  // For a job with sequence parallelism one that was measured with it, else one without. Never the other way round.
  [[nodiscard]] const ModelProfile* find(const JobSpec& job, const Accelerator& accelerator) const;
  [[nodiscard]] const std::vector<ModelProfile>& profiles() const { return profiles_; }

 private:
  std::vector<ModelProfile> profiles_;
};

}  // namespace sailor
