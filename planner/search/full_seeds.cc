#include "planner/search/full_seeds.h"

#include <algorithm>

#include "core/model/sort_unique.h"
#include "planner/search/pool_orders.h"

namespace sailor {
namespace {

// Fills stage after stage of a draft.
class FullDraft {
 public:
  struct Shape {
    const PoolOrder& order;
    const Techniques& techniques;
    int microbatch_size = 1;
    int tensor_parallel = 1;
    int replicas = 1;  // of every stage
  };

  FullDraft(const PlanningProblem& problem, const Shape& shape)
      : problem_(problem),
        shape_(shape),
        left_(problem.most_gpus()),
        draft_{shape.microbatch_size, shape.techniques, {}} {
    for (int pool = 0; pool < problem.pools(); ++pool) groups_left_.push_back(groups_of(pool));
  }

  // Returns nothing if the GPUs cannot hold all layers.
  std::optional<Draft> filled() && {
    while (next_layer() < problem_.layers()) {
      if (!add_stage()) return std::nullopt;
    }
    return std::move(draft_);
  }

 private:
  [[nodiscard]] int next_layer() const { return draft_.stages.empty() ? 0 : draft_.stages.back().layers.last; }
  [[nodiscard]] int groups_of(int pool) const { return problem_.pool(pool).group_capacity(shape_.tensor_parallel); }

  // Returns the end of the longest range of layers from the next one on that a group of the pool can hold. Returns the
  // next layer itself if it holds none.
  [[nodiscard]] int end_of_longest(int pool) const {
    const ProfilePoint point{shape_.microbatch_size, shape_.tensor_parallel};
    int last = next_layer();
    while (last < problem_.layers() &&
           problem_.passes->fits(pool, point, {next_layer(), last + 1}, shape_.techniques)) {
      ++last;
    }
    return last;
  }

  // Takes the replicas of the next stage from the first region that has enough of them. Regions are not returned to,
  // so that messages rarely leave a region.
  bool add_stage() {
    for (; region_ < shape_.order.size(); ++region_) {
      if (add_stage_in(shape_.order[region_])) return true;
    }
    return false;
  }

  bool add_stage_in(const RegionPools& pools) {
    const int needed = shape_.replicas * shape_.tensor_parallel;
    if (needed > left_) return false;
    GroupedStage stage{{next_layer(), problem_.layers()}, {}};
    int missing = shape_.replicas;
    for (const int pool : pools) {
      const int count = std::min(missing, groups_left_[static_cast<std::size_t>(pool)]);
      const int end = count > 0 ? end_of_longest(pool) : next_layer();
      if (end == next_layer()) continue;
      stage.layers.last = std::min(stage.layers.last, end);
      stage.add(draft_replicas(pool, shape_.tensor_parallel, count));
      missing -= count;
    }
    if (missing > 0) return false;
    for (const ReplicaGroup& group : stage.groups) groups_left_[static_cast<std::size_t>(group.pool)] -= group.count;
    left_ -= needed;
    draft_.stages.push_back(std::move(stage));
    return true;
  }

  const PlanningProblem& problem_;
  Shape shape_;
  int left_;                      // how many more GPUs the plan may use
  std::vector<int> groups_left_;  // [pool]
  std::size_t region_ = 0;
  Draft draft_;
};

void visit_full(const PlanningProblem& problem, FullDraft::Shape shape, const VisitDraft& visit) {
  shape.replicas = 1;
  const auto single = FullDraft(problem, shape).filled();
  if (!single || single->stages.size() < 2) return;
  const int microbatches = problem.job.training.global_batch_size / shape.microbatch_size;
  const int stages = static_cast<int>(single->stages.size());
  const int most = std::min(microbatches, problem.most_gpus() / (stages * shape.tensor_parallel));
  visit(*single);
  std::vector<int> replicas{most / 2, most};
  sort_unique(replicas);
  for (const int count : replicas) {
    if (count < 2) continue;
    shape.replicas = count;
    if (const auto draft = FullDraft(problem, shape).filled()) visit(*draft);
  }
}

}  // namespace

void visit_full_seeds(const PlanningProblem& problem, const Techniques& techniques, const VisitDraft& visit) {
  for (const PoolOrder& order : pool_orders(problem, techniques)) {
    for (const int size : problem.job.training.microbatch_sizes) {
      for (const int tensor_parallel : problem.tensor_parallel_sizes) {
        visit_full(problem, {order, techniques, size, tensor_parallel}, visit);
      }
    }
  }
}

}  // namespace sailor
