#include "planner/problem/pass_table.h"

#include <algorithm>
#include <bit>
#include <set>

namespace sailor {
namespace {

// Peer replicas do not count, because what they cost depends on the whole plan.
std::size_t index_of(const Techniques& techniques) {
  return (techniques.recomputes ? 2U : 0U) + (techniques.shards_optimizer ? 1U : 0U);
}

}  // namespace

PassTable::PassTable(const JobSpec& job, const ClusterState& cluster, std::span<const int> tensor_parallel_sizes,
                     std::span<const Techniques> allowed, const JobEstimator& estimator)
    : layers_(static_cast<std::size_t>(job.model.layer_count())), tensor_parallel_sizes_(tensor_parallel_sizes.size()) {
  const std::vector<int>& sizes = job.training.microbatch_sizes;
  index_of_size_.assign(static_cast<std::size_t>(std::ranges::max(sizes)) + 1, 0);
  for (std::size_t i = 0; i < sizes.size(); ++i) index_of_size_[static_cast<std::size_t>(sizes[i])] = i;
  std::vector<int> pool_of_type;
  std::vector<GpuClass> types;
  for (const Pool& pool : cluster.pools) {
    const auto known = std::ranges::find(types, pool.key.gpu_class());
    type_of_pool_.push_back(static_cast<std::size_t>(known - types.begin()));
    if (known != types.end()) continue;
    types.push_back(pool.key.gpu_class());
    pool_of_type.push_back(static_cast<int>(&pool - cluster.pools.data()));
  }
  per_type_ = sizes.size() * tensor_parallel_sizes_ * (layers_ + 1);
  std::set<std::size_t> done;
  for (const Techniques& techniques : allowed) {
    if (!done.insert(index_of(techniques)).second) continue;
    first_of_techniques_[index_of(techniques)] = entries_.size();
    for (const int pool : pool_of_type) {
      for (const int size : sizes) {
        const int shards = techniques.shards_optimizer ? job.training.global_batch_size / size : 1;
        for (const int tensor_parallel : tensor_parallel_sizes) {
          add_layers(estimator, {{}, pool, {size, tensor_parallel}, techniques.recomputes, shards});
        }
      }
    }
  }
}

// A range needs more memory than any part of it. So the longest range that fits never ends before that of an earlier
// first layer, and the search for its end goes on where the last one stopped.
void PassTable::add_layers(const JobEstimator& estimator, StageShape shape) {
  const auto layers = static_cast<int>(layers_);
  int end = 0;
  for (int layer = 0; layer <= layers; ++layer) {
    Entry& entry = entries_.emplace_back();
    if (layer > 0) {
      shape.layers = {0, layer};
      const StageNeeds before = estimator.stage_needs(shape);
      entry.forward = before.forward.value();
      entry.backward = before.backward.value();
    }
    for (end = std::max(end, layer); end < layers; ++end) {
      shape.layers = {layer, end + 1};
      if (!estimator.stage_needs(shape).fits()) break;
    }
    entry.end_of_fitting = end;
  }
}

const PassTable::Entry* PassTable::at(int pool, ProfilePoint point, int layer, const Techniques& techniques) const {
  const std::size_t size = index_of_size_[static_cast<std::size_t>(point.microbatch_size)];
  const auto log_of_group = static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(point.tensor_parallel)));
  const std::size_t kind = type_of_pool_[static_cast<std::size_t>(pool)] * per_type_ +
                           (size * tensor_parallel_sizes_ + log_of_group) * (layers_ + 1);
  return &entries_[first_of_techniques_[index_of(techniques)] + kind + static_cast<std::size_t>(layer)];
}

}  // namespace sailor
