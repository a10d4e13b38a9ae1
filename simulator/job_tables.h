// JobTables: the time and memory of the layers of one job, for every accelerator of a cluster and every profile point
// that may be needed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/model/check.h"
#include "core/model/cluster_state.h"
#include "core/model/execution_model.h"
#include "core/model/job_spec.h"
#include "simulator/layer_needs.h"

namespace sailor {

// Returns kInvalidArgument if a profile that the job would use has another number of layers than the job's model.
Result<void> check_profiles(const JobSpec& job, const ClusterState& cluster, const ProfileBook& profiles);

class JobTables {
 public:
  // What the tables cover.
  struct Scope {
    std::span<const int> microbatch_sizes;
    std::span<const int> tensor_parallel_sizes;
    const ExecutionModel& execution;
  };
  static Result<JobTables> make(const JobSpec& job, const ClusterState& cluster, const ProfileBook& profiles,
                                const Scope& scope);

  // The accelerator of the pool must be known. `recompute` must be a value that the job allows.
  [[nodiscard]] const LayerNeeds& needs(int pool, ProfilePoint point, bool recompute) const;
  [[nodiscard]] const std::vector<int>& tensor_parallel_sizes() const { return tensor_parallel_sizes_; }  // ascending
  [[nodiscard]] const AcceleratorSpec& accelerator(int pool) const { return types_[type_of(pool)].spec; }

 private:
  struct GpuType {
    AcceleratorSpec spec;
    int grade = 0;
  };

  [[nodiscard]] std::size_t type_of(int pool) const {
    const int type = type_of_pool_[static_cast<std::size_t>(pool)];
    SAILOR_CHECK(type >= 0, "pool {} has an unknown accelerator", pool);
    return static_cast<std::size_t>(type);
  }
  void add_type(const JobSpec& job, const GpuType& type, const ModelProfile* profile, const Scope& scope);
  void add_needs(const JobSpec& job, const GpuType& type, const ModelProfile* profile, const ExecutionModel& execution,
                 ProfilePoint point);

  std::vector<GpuType> types_;                 // each known type of the cluster once
  std::vector<int> type_of_pool_;              // -1: the accelerator is unknown
  std::vector<int> index_of_size_;             // the key is the microbatch size; -1: not in the tables
  std::vector<int> index_of_tensor_parallel_;  // the key is the tensor-parallel size
  std::size_t sizes_ = 0;
  std::vector<int> tensor_parallel_sizes_;
  std::vector<bool> recomputes_;   // the values that the job allows
  std::vector<LayerNeeds> needs_;  // [type][size][tensor-parallel size][which of recomputes_]
};

}  // namespace sailor
