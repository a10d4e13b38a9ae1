#include "planner/problem/pass_table.h"

#include <algorithm>
#include <bit>
#include <set>
#include <string_view>

namespace sailor {
namespace {

constexpr double kLeast = 1e-9;  // above zero, so that rates are finite

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
  std::vector<std::string_view> types;
  for (const Pool& pool : cluster.pools) {
    const auto known = std::ranges::find(types, std::string_view(pool.key.accelerator.str()));
    type_of_pool_.push_back(static_cast<std::size_t>(known - types.begin()));
    if (known != types.end()) continue;
    types.emplace_back(pool.key.accelerator.str());
    pool_of_type.push_back(static_cast<int>(&pool - cluster.pools.data()));
  }
  per_type_ = sizes.size() * tensor_parallel_sizes_ * ranges();
  std::set<std::size_t> done;
  for (const Techniques& techniques : allowed) {
    if (!done.insert(index_of(techniques)).second) continue;
    first_of_techniques_[index_of(techniques)] = entries_.size();
    for (const int pool : pool_of_type) {
      for (const int size : sizes) {
        const int shards = techniques.shards_optimizer ? job.training.global_batch_size / size : 1;
        for (const int tensor_parallel : tensor_parallel_sizes) {
          add_ranges(estimator, {{}, pool, {size, tensor_parallel}, techniques.recomputes, shards});
        }
      }
    }
  }
}

void PassTable::add_ranges(const JobEstimator& estimator, StageShape shape) {
  const auto layers = static_cast<int>(layers_);
  for (shape.layers.first = 0; shape.layers.first <= layers; ++shape.layers.first) {
    for (shape.layers.last = 0; shape.layers.last <= layers; ++shape.layers.last) {
      Entry& entry = entries_.emplace_back();
      if (shape.layers.last <= shape.layers.first) continue;
      const StageNeeds needs = estimator.stage_needs(shape);
      entry = {std::max(kLeast, needs.pass().value()), needs.fits()};
    }
  }
}

const PassTable::Entry& PassTable::at(int pool, ProfilePoint point, LayerRange layers,
                                      const Techniques& techniques) const {
  const std::size_t size = index_of_size_[static_cast<std::size_t>(point.microbatch_size)];
  const auto log_of_group = static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(point.tensor_parallel)));
  const std::size_t kind = type_of_pool_[static_cast<std::size_t>(pool)] * per_type_ +
                           (size * tensor_parallel_sizes_ + log_of_group) * ranges();
  const std::size_t range =
      static_cast<std::size_t>(layers.first) * (layers_ + 1) + static_cast<std::size_t>(layers.last);
  return entries_[first_of_techniques_[index_of(techniques)] + kind + range];
}

}  // namespace sailor
