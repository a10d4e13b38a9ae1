#include "planner/search/seeds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "planner/search/pool_orders.h"

namespace sailor {
namespace {

// The numbers of stages that are tried: up to this one, and above it until as many numbers fit in memory as should.
constexpr int kMostStages = 16;
constexpr int kFittingNumbers = 3;

// Returns the numbers of replicas that are worth trying. Between two of them, more replicas would not reduce the number
// of microbatches of the busiest replica.
std::vector<int> replica_counts(int microbatches, int most) {
  std::vector<int> counts;
  for (int replicas = std::min(microbatches, most); replicas >= 1;) {
    const int rounds = (microbatches + replicas - 1) / replicas;
    const int fewest = (microbatches + rounds - 1) / rounds;
    counts.push_back(fewest);
    replicas = fewest - 1;
  }
  if (most <= microbatches && counts.front() != most) counts.push_back(most);
  return counts;
}

// [pool]: the smallest tensor-parallel size that the groups of the pool may have, even if their layers fit with a
// smaller one.
using Floors = std::vector<int>;

// Returns every combination of tensor-parallel sizes if there are two types of GPU. Otherwise, all types have the same
// size.
std::vector<Floors> all_floors(const PlanningProblem& problem) {
  std::map<GpuClass, std::size_t> types;
  for (const Pool& pool : problem.cluster.pools) types.try_emplace(pool.key.gpu_class(), types.size());
  std::vector<Floors> all;
  const bool is_combined = types.size() == 2;
  for (const int one : problem.tensor_parallel_sizes) {
    for (const int other : problem.tensor_parallel_sizes) {
      if (!is_combined && other != one) continue;
      Floors floors;
      for (const Pool& pool : problem.cluster.pools) {
        floors.push_back(types.at(pool.key.gpu_class()) == 0 ? one : other);
      }
      all.push_back(std::move(floors));
    }
  }
  return all;
}

// Takes groups from the pools of an order, for one stage after the other. A stage never spans two regions.
class GroupAllocator {
 public:
  GroupAllocator(const PlanningProblem& problem, const PoolOrder& order, const Floors& floors)
      : problem_(problem), order_(order), floors_(floors) {
    for (int pool = 0; pool < problem.pools(); ++pool) free_.push_back(problem.pool(pool).free_gpus());
  }

  // Adds replicas to the stage. Returns false if none of the remaining regions has enough groups for them.
  bool add_replicas(const Draft& draft, GroupedStage& stage, int replicas) {
    for (; region_ < order_.size(); ++region_) {
      if (add_replicas_from_region(draft, stage, replicas)) return true;
    }
    return false;
  }

 private:
  bool add_replicas_from_region(const Draft& draft, GroupedStage& stage, int replicas) {
    ReplicaGroups chosen;
    for (const int pool : order_[region_]) {
      if (replicas == 0) break;
      const int smallest =
          problem_.smallest_tensor_parallel(pool, draft.microbatch_size, stage.layers, draft.techniques);
      if (smallest == 0) continue;
      const int tensor_parallel = std::max(smallest, floors_[static_cast<std::size_t>(pool)]);
      const int free_groups = free_[static_cast<std::size_t>(pool)] / tensor_parallel;
      const int count = std::min({replicas, free_groups, problem_.pool(pool).group_capacity(tensor_parallel)});
      if (count > 0) chosen.push_back(draft_replicas(pool, tensor_parallel, count));
      replicas -= count;
    }
    if (replicas > 0) return false;
    for (const ReplicaGroup& group : chosen) {
      free_[static_cast<std::size_t>(group.pool)] -= group.gpus();
      stage.add(group);
    }
    return true;
  }

  const PlanningProblem& problem_;
  const PoolOrder& order_;
  const Floors& floors_;
  std::vector<int> free_;
  std::size_t region_ = 0;
};

struct SeedShape {
  const PoolOrder& order;
  const Techniques& techniques;
  int microbatch_size = 1;
  int stages = 1;
};

// Makes the even drafts of one shape, with every number of replicas.
class EvenSeeds {
 public:
  EvenSeeds(const PlanningProblem& problem, const SeedShape& shape)
      : problem_(problem),
        shape_(shape),
        microbatches_(problem.job.training.global_batch_size / shape.microbatch_size),
        layers_(even_layers(problem.layers(), shape.stages)),
        counts_(replica_counts(microbatches_, problem.most_gpus() / shape.stages)) {}

  void visit(const Floors& floors, const PruneSeeds& prune, const VisitDraft& visit) {
    if (!find_fastest_and_cheapest(floors)) return;
    const auto [smallest, largest] = std::ranges::minmax(floors);
    int too_many_rounds = std::numeric_limits<int>::max();
    for (const int replicas : counts_) {
      const int rounds = rounds_of(replicas);
      if (rounds >= too_many_rounds) continue;
      const Pruning pruning = prune(
          {shape_.microbatch_size, shape_.stages, {smallest, largest}, least_seconds(rounds), least_price_ * replicas});
      if (pruning == Pruning::kNone) visit_with(replicas, floors, visit);
      if (pruning == Pruning::kNoFaster) too_many_rounds = rounds;
    }
  }

 private:
  // Finds, among the groups that can hold each stage, the time of the fastest and the price of the cheapest. Returns
  // false if no group can hold some stage.
  bool find_fastest_and_cheapest(const Floors& floors) {
    fastest_.clear();
    least_price_ = DollarsPerHour(0);
    for (const LayerRange layers : layers_) {
      double fastest = std::numeric_limits<double>::infinity();
      DollarsPerHour cheapest(fastest);
      for (const RegionPools& pools : shape_.order) {
        for (const int pool : pools) {
          const int smallest =
              problem_.smallest_tensor_parallel(pool, shape_.microbatch_size, layers, shape_.techniques);
          if (smallest == 0) continue;
          const int tensor_parallel = std::max(smallest, floors[static_cast<std::size_t>(pool)]);
          fastest = std::min(fastest,
                             problem_.pass(pool, {shape_.microbatch_size, tensor_parallel}, layers, shape_.techniques));
          cheapest = std::min(cheapest, problem_.pool(pool).price_per_gpu * tensor_parallel);
        }
      }
      fastest_.push_back(fastest);
      least_price_ += cheapest;
      if (std::isinf(fastest)) return false;
    }
    return true;
  }

  // Returns how many microbatches the busiest of the replicas processes.
  [[nodiscard]] int rounds_of(int replicas) const { return (microbatches_ + replicas - 1) / replicas; }

  // Returns a lower bound: the busiest replica of every stage gets its microbatches from the stages before it.
  [[nodiscard]] double least_seconds(int rounds) const {
    double before = 0;
    double longest = 0;
    for (const double pass : fastest_) {
      longest = std::max(longest, before + rounds * pass);
      before += pass;
    }
    return longest;
  }

  void visit_with(int replicas, const Floors& floors, const VisitDraft& visit) const {
    Draft draft{shape_.microbatch_size, shape_.techniques, {}};
    draft.stages.reserve(layers_.size());
    GroupAllocator allocator(problem_, shape_.order, floors);
    for (const LayerRange layers : layers_) {
      draft.stages.push_back({layers, {}});
      if (!allocator.add_replicas(draft, draft.stages.back(), replicas)) return;
    }
    visit(draft);
  }

  const PlanningProblem& problem_;
  SeedShape shape_;
  int microbatches_;
  std::vector<LayerRange> layers_;
  std::vector<int> counts_;
  std::vector<double> fastest_;  // seconds of a microbatch, by stage
  DollarsPerHour least_price_;   // the price of one replica of every stage
};

// A single group. Groups are listed in the order of the pools.
struct Unit {
  ReplicaGroup group;
  std::size_t region = 0;  // index into PoolOrder
  double speed = 0;        // microbatches of a middle layer per second
};

std::vector<Unit> all_units(const PlanningProblem& problem, const SeedShape& shape) {
  std::vector<Unit> units;
  int left = problem.most_gpus();
  const int layers = std::max(1, problem.layers() / shape.stages);
  const int first = (problem.layers() - layers) / 2;
  const LayerRange middle{first, first + layers};
  for (std::size_t region = 0; region < shape.order.size(); ++region) {
    for (const int pool : shape.order[region]) {
      const int tensor_parallel =
          problem.smallest_tensor_parallel(pool, shape.microbatch_size, middle, shape.techniques);
      if (tensor_parallel == 0) continue;
      const int count = std::min(problem.pool(pool).group_capacity(tensor_parallel), left / tensor_parallel);
      const double pass = problem.pass(pool, {shape.microbatch_size, tensor_parallel}, middle, shape.techniques);
      const ReplicaGroup group = draft_replicas(pool, tensor_parallel, 1);
      for (int i = 0; i < count; ++i) units.push_back({group, region, layers / pass});
      left -= count * tensor_parallel;
    }
  }
  return units;
}

// Divides the units into stages of about equal speed. A new region starts a new stage. Returns nothing if this does not
// result in the wanted number of stages.
std::vector<std::vector<Unit>> cut(const std::vector<Unit>& units, int stages) {
  const double total =
      std::accumulate(units.begin(), units.end(), 0.0, [](double sum, const Unit& unit) { return sum + unit.speed; });
  std::vector<std::vector<Unit>> parts;
  double done = 0;
  for (const Unit& unit : units) {
    const bool is_next = parts.empty() || parts.back().back().region != unit.region ||
                         done >= total * static_cast<double>(parts.size()) / stages - 1e-9 * total;
    if (is_next) parts.emplace_back();
    parts.back().push_back(unit);
    done += unit.speed;
  }
  if (std::cmp_not_equal(parts.size(), stages)) parts.clear();
  return parts;
}

// Gives every part layers in proportion to its speed, and at least one.
std::vector<LayerRange> proportional_layers(const std::vector<std::vector<Unit>>& parts, int layers) {
  std::vector<double> speeds;
  for (const auto& part : parts) {
    double sum = 0;
    for (const Unit& unit : part) sum += unit.speed;
    speeds.push_back(sum);
  }
  const double total = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<LayerRange> ranges;
  double until = 0;
  int first = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    until += speeds[i];
    const int rest = static_cast<int>(parts.size() - 1 - i);
    const int due = static_cast<int>(std::lround(layers * until / total));
    const int last = rest == 0 ? layers : std::clamp(due, first + 1, layers - rest);
    ranges.push_back({first, last});
    first = last;
  }
  return ranges;
}

void visit_uneven(const PlanningProblem& problem, const SeedShape& shape, const VisitDraft& visit) {
  const auto parts = cut(all_units(problem, shape), shape.stages);
  if (parts.empty()) return;
  const auto layers = proportional_layers(parts, problem.layers());
  Draft draft{shape.microbatch_size, shape.techniques, {}};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    GroupedStage& stage = draft.stages.emplace_back(GroupedStage{layers[i], {}});
    for (const Unit& unit : parts[i]) {
      const int tensor_parallel =
          problem.smallest_tensor_parallel(unit.group.pool, shape.microbatch_size, stage.layers, shape.techniques);
      if (tensor_parallel > 0 && tensor_parallel <= unit.group.tensor_parallel) stage.add(unit.group);
    }
    if (stage.groups.empty()) return;
  }
  visit(draft);
}

// Whether every stage fits in the memory of some group, if the layers are split evenly.
bool fits_somewhere(const PlanningProblem& problem, const SeedShape& shape) {
  return std::ranges::all_of(even_layers(problem.layers(), shape.stages), [&](LayerRange layers) {
    return std::ranges::any_of(shape.order, [&](const RegionPools& pools) {
      return std::ranges::any_of(pools, [&](int pool) {
        return problem.smallest_tensor_parallel(pool, shape.microbatch_size, layers, shape.techniques) > 0;
      });
    });
  });
}

void visit_shapes(const PlanningProblem& problem, const Techniques& techniques,
                  const std::function<void(const SeedShape&)>& visit_shape) {
  const int most_stages = std::min(problem.layers(), problem.most_gpus());
  for (const PoolOrder& order : pool_orders(problem, techniques)) {
    for (const int size : problem.job.training.microbatch_sizes) {
      int fitting = 0;
      for (int stages = 1; stages <= most_stages && (stages <= kMostStages || fitting < kFittingNumbers); ++stages) {
        const SeedShape shape{order, techniques, size, stages};
        const bool fits = fits_somewhere(problem, shape);
        fitting += fits ? 1 : 0;
        if (fits || stages <= kMostStages) visit_shape(shape);
      }
    }
  }
}

}  // namespace

void visit_even_seeds(const PlanningProblem& problem, const Techniques& techniques, const PruneSeeds& prune,
                      const VisitDraft& visit) {
  const std::vector<Floors> floors = all_floors(problem);
  visit_shapes(problem, techniques, [&](const SeedShape& shape) {
    EvenSeeds seeds(problem, shape);
    for (const Floors& each : floors) seeds.visit(each, prune, visit);
  });
}

void visit_uneven_seeds(const PlanningProblem& problem, const Techniques& techniques, const VisitDraft& visit) {
  visit_shapes(problem, techniques, [&](const SeedShape& shape) { visit_uneven(problem, shape, visit); });
}

}  // namespace sailor
