#include "simulator/job_tables.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/model/speed_grade.h"
#include "simulator/layer_times.h"

namespace sailor {
namespace {

std::vector<int> index_by_value(std::span<const int> values) {
  std::vector<int> index(static_cast<std::size_t>(std::ranges::max(values)) + 1, -1);
  for (std::size_t i = 0; i < values.size(); ++i) index[static_cast<std::size_t>(values[i])] = static_cast<int>(i);
  return index;
}

std::size_t looked_up(const std::vector<int>& index, int value) {
  const bool is_known = value >= 0 && value < std::ssize(index) && index[static_cast<std::size_t>(value)] >= 0;
  SAILOR_CHECK(is_known, "the job's tables were not made for a microbatch size or tensor_parallel of {}", value);
  return static_cast<std::size_t>(index[static_cast<std::size_t>(value)]);
}

}  // namespace

Result<void> check_profiles(const JobSpec& job, const ClusterState& cluster, const ProfileBook& profiles) {
  const auto layers = static_cast<std::size_t>(job.model.layer_count());
  for (const Pool& pool : cluster.pools) {
    const ModelProfile* profile = profiles.find(job, pool.key.accelerator);
    if (profile == nullptr) continue;
    for (const auto& [point, times] : profile->times) {
      if (times.size() == layers) continue;
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the profile of {} on {} has {} layers where the job's model has {}; measure it again",
                              profile->model, profile->accelerator.str(), times.size(), layers));
    }
  }
  return {};
}

Result<JobTables> JobTables::make(const JobSpec& job, const ClusterState& cluster, const ProfileBook& profiles,
                                  const Scope& scope) {
  const auto& microbatch_sizes = scope.microbatch_sizes;
  const auto& tensor_parallel_sizes = scope.tensor_parallel_sizes;
  SAILOR_CHECK(!microbatch_sizes.empty() && !tensor_parallel_sizes.empty(),
               "tables for {} sizes and {} tensor_parallel_sizes", microbatch_sizes.size(),
               tensor_parallel_sizes.size());
  if (auto checked = check_profiles(job, cluster, profiles); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  JobTables tables;
  tables.index_of_size_ = index_by_value(microbatch_sizes);
  tables.index_of_tensor_parallel_ = index_by_value(tensor_parallel_sizes);
  tables.sizes_ = microbatch_sizes.size();
  tables.tensor_parallel_sizes_.assign(tensor_parallel_sizes.begin(), tensor_parallel_sizes.end());
  for (const bool recompute : {false, true}) {
    if (allows_recomputation(job.training.activation_checkpointing, recompute)) tables.recomputes_.push_back(recompute);
  }
  for (const Pool& pool : cluster.pools) {
    const AcceleratorSpec* spec = cluster.accelerators.find(pool.key.accelerator);
    if (spec == nullptr) {
      tables.type_of_pool_.push_back(-1);
      continue;
    }
    const auto known = std::ranges::find_if(tables.types_, [&](const GpuType& type) {
      return type.spec.name == spec->name && type.grade == pool.key.grade;
    });
    tables.type_of_pool_.push_back(static_cast<int>(known - tables.types_.begin()));
    if (known != tables.types_.end()) continue;
    tables.types_.push_back({*spec, pool.key.grade});
    tables.add_type(job, tables.types_.back(), profiles.find(job, spec->name), scope);
  }
  return tables;
}

void JobTables::add_type(const JobSpec& job, const GpuType& type, const ModelProfile* profile, const Scope& scope) {
  std::optional<ModelProfile> running;
  if (profile != nullptr && scope.execution.launch_exposed < 1) {
    profile = &running.emplace(with_launches_exposed(*profile, scope.execution.launch_exposed));
  }
  for (const int size : scope.microbatch_sizes) {
    for (const int tensor_parallel : scope.tensor_parallel_sizes) {
      add_needs(job, type, profile, scope.execution, {size, tensor_parallel});
    }
  }
}

void JobTables::add_needs(const JobSpec& job, const GpuType& type, const ModelProfile* profile,
                          const ExecutionModel& execution, ProfilePoint point) {
  for (const bool recompute : recomputes_) {
    const LayerNeeds::Choices choices{recompute, execution.update_share, execution.memory, slowdown_of(type.grade)};
    needs_.emplace_back(job, type.spec, profile, point, choices);
  }
}

const LayerNeeds& JobTables::needs(int pool, ProfilePoint point, bool recompute) const {
  const std::size_t type = type_of(pool);
  const std::size_t size = looked_up(index_of_size_, point.microbatch_size);
  const std::size_t tensor_parallel = looked_up(index_of_tensor_parallel_, point.tensor_parallel);
  const std::size_t which = recomputes_.front() == recompute ? 0 : 1;
  SAILOR_CHECK(which < recomputes_.size(), "the job's wish does not allow activation checkpointing to be {}",
               recompute);
  return needs_[((type * sizes_ + size) * tensor_parallel_sizes_.size() + tensor_parallel) * recomputes_.size() +
                which];
}

}  // namespace sailor
