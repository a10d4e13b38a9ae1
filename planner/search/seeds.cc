#include "planner/search/seeds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>

#include "planner/search/pool_orders.h"

namespace sailor {
namespace {

constexpr int kMostStages = 16;

// Numbers of replicas worth trying: fewer than these leave the busiest one with as many microbatches.
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

// The smallest degree that groups of each pool have, whether their layers ask for it or not.
using Floors = std::vector<int>;

// Of a type of GPU, one of the degrees; of several types, every combination for two, for more the same for all.
std::vector<Floors> all_floors(const World& world) {
  std::map<std::string_view, std::size_t> types;
  for (const Pool& pool : world.cluster.pools) types.try_emplace(pool.key.accelerator.str(), types.size());
  std::vector<Floors> all;
  const bool is_combined = types.size() == 2;
  for (const int one : world.degrees) {
    for (const int other : world.degrees) {
      if (!is_combined && other != one) continue;
      Floors floors;
      for (const Pool& pool : world.cluster.pools) {
        floors.push_back(types.at(pool.key.accelerator.str()) == 0 ? one : other);
      }
      all.push_back(std::move(floors));
    }
  }
  return all;
}

// Takes groups from the pools of an order, one stage after the other; a stage never spans two blocks (regions).
class Taker {
 public:
  Taker(const World& world, const PoolOrder& order, int microbatch_size, const Floors& floors)
      : world_(world), order_(order), microbatch_size_(microbatch_size), floors_(floors) {
    for (int pool = 0; pool < world.pools(); ++pool) free_.push_back(world.pool(pool).free_gpus());
  }

  // False if no block that is left has so many groups for these layers.
  bool take(DraftStage& stage, int replicas) {
    for (; block_ < order_.size(); ++block_) {
      if (take_from_block(stage, replicas)) return true;
    }
    return false;
  }

 private:
  bool take_from_block(DraftStage& stage, int replicas) {
    std::vector<Crew> taken;
    for (const int pool : order_[block_]) {
      if (replicas == 0) break;
      const int smallest = world_.smallest_degree(pool, microbatch_size_, stage.first_layer, stage.last_layer);
      if (smallest == 0) continue;
      const int degree = std::max(smallest, floors_[static_cast<std::size_t>(pool)]);
      const int free_groups = free_[static_cast<std::size_t>(pool)] / degree;
      const int count = std::min({replicas, free_groups, world_.pool(pool).group_capacity(degree)});
      if (count > 0) taken.push_back({pool, degree, count});
      replicas -= count;
    }
    if (replicas > 0) return false;
    for (const Crew& crew : taken) {
      free_[static_cast<std::size_t>(crew.pool)] -= crew.degree * crew.count;
      stage.add(crew);
    }
    return true;
  }

  const World& world_;
  const PoolOrder& order_;
  int microbatch_size_;
  const Floors& floors_;
  std::vector<int> free_;
  std::size_t block_ = 0;
};

struct EvenShape {
  const PoolOrder& order;
  int microbatch_size = 1;
  int stages = 1;
};

// Even drafts of one shape, with any number of replicas.
class EvenSeeds {
 public:
  EvenSeeds(const World& world, const EvenShape& shape)
      : world_(world),
        shape_(shape),
        microbatches_(world.job.training.global_batch_size / shape.microbatch_size),
        layers_(even_layers(world.layers(), shape.stages)),
        counts_(replica_counts(microbatches_, world.most_gpus() / shape.stages)) {}

  void visit(const Floors& floors, const IsHopeless& is_hopeless, const Visit& visit) {
    if (!find_fastest(floors)) return;
    for (const int replicas : counts_) {
      if (!is_hopeless({shape_.microbatch_size, shape_.stages, least_seconds(replicas), least_price_ * replicas})) {
        visit_with(replicas, floors, visit);
      }
    }
  }

 private:
  // Of the groups that may work on each stage, how long the fastest takes and what the cheapest costs. False if there
  // is a stage that none can work on.
  bool find_fastest(const Floors& floors) {
    fastest_.clear();
    least_price_ = DollarsPerHour(0);
    for (const auto& [first, last] : layers_) {
      double fastest = std::numeric_limits<double>::infinity();
      DollarsPerHour cheapest(fastest);
      for (const PoolBlock& block : shape_.order) {
        for (const int pool : block) {
          const int smallest = world_.smallest_degree(pool, shape_.microbatch_size, first, last);
          if (smallest == 0) continue;
          const int degree = std::max(smallest, floors[static_cast<std::size_t>(pool)]);
          fastest = std::min(fastest, world_.pass(pool, {shape_.microbatch_size, degree}, {first, last}));
          cheapest = std::min(cheapest, world_.pool(pool).price_per_gpu * degree);
        }
      }
      fastest_.push_back(fastest);
      least_price_ += cheapest;
      if (std::isinf(fastest)) return false;
    }
    return true;
  }

  // The busiest replica of every stage gets its microbatches from the stages before.
  [[nodiscard]] double least_seconds(int replicas) const {
    const int rounds = (microbatches_ + replicas - 1) / replicas;
    double before = 0;
    double longest = 0;
    for (const double pass : fastest_) {
      longest = std::max(longest, before + rounds * pass);
      before += pass;
    }
    return longest;
  }

  void visit_with(int replicas, const Floors& floors, const Visit& visit) const {
    Draft draft{shape_.microbatch_size, {}};
    Taker taker(world_, shape_.order, shape_.microbatch_size, floors);
    for (const auto& [first, last] : layers_) {
      draft.stages.push_back({first, last, {}});
      if (!taker.take(draft.stages.back(), replicas)) return;
    }
    visit(draft);
  }

  const World& world_;
  EvenShape shape_;
  int microbatches_;
  std::vector<std::pair<int, int>> layers_;
  std::vector<int> counts_;
  std::vector<double> fastest_;  // seconds of a microbatch, by stage
  DollarsPerHour least_price_;   // of a replica of every stage
};

// One group after the other, in the order of the pools.
struct Unit {
  Crew crew;
  std::size_t block = 0;
  double speed = 0;  // microbatches of a middle layer per second
};

std::vector<Unit> all_units(const World& world, const PoolOrder& order, int microbatch_size, int stages) {
  std::vector<Unit> units;
  int left = world.most_gpus();
  const int layers = std::max(1, world.layers() / stages);
  const int middle = (world.layers() - layers) / 2;
  for (std::size_t block = 0; block < order.size(); ++block) {
    for (const int pool : order[block]) {
      const int degree = world.smallest_degree(pool, microbatch_size, middle, middle + layers);
      if (degree == 0) continue;
      const int count = std::min(world.pool(pool).group_capacity(degree), left / degree);
      const double pass = world.pass(pool, {microbatch_size, degree}, {middle, middle + layers});
      for (int i = 0; i < count; ++i) units.push_back({{pool, degree, 1}, block, layers / pass});
      left -= count * degree;
    }
  }
  return units;
}

// Cuts the units into stages of about equal speed; a new region begins a new stage. Empty if there are too few.
std::vector<std::vector<Unit>> cut(const std::vector<Unit>& units, int stages) {
  const double total =
      std::accumulate(units.begin(), units.end(), 0.0, [](double sum, const Unit& unit) { return sum + unit.speed; });
  std::vector<std::vector<Unit>> parts;
  double done = 0;
  for (const Unit& unit : units) {
    const bool is_next = parts.empty() || parts.back().back().block != unit.block ||
                         done >= total * static_cast<double>(parts.size()) / stages - 1e-9 * total;
    if (is_next) parts.emplace_back();
    parts.back().push_back(unit);
    done += unit.speed;
  }
  if (static_cast<int>(parts.size()) != stages) parts.clear();
  return parts;
}

// Layers in proportion to the speed of the part that gets them, at least one each.
std::vector<std::pair<int, int>> proportional_layers(const std::vector<std::vector<Unit>>& parts, int layers) {
  std::vector<double> speeds;
  for (const auto& part : parts) {
    double sum = 0;
    for (const Unit& unit : part) sum += unit.speed;
    speeds.push_back(sum);
  }
  const double total = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<std::pair<int, int>> ranges;
  double until = 0;
  int first = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    until += speeds[i];
    const int rest = static_cast<int>(parts.size() - 1 - i);
    const int due = static_cast<int>(std::lround(layers * until / total));
    const int last = rest == 0 ? layers : std::clamp(due, first + 1, layers - rest);
    ranges.emplace_back(first, last);
    first = last;
  }
  return ranges;
}

void visit_uneven(const World& world, const PoolOrder& order, int microbatch_size, int stages, const Visit& visit) {
  const auto parts = cut(all_units(world, order, microbatch_size, stages), stages);
  if (parts.empty()) return;
  const auto layers = proportional_layers(parts, world.layers());
  Draft draft{microbatch_size, {}};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    DraftStage& stage = draft.stages.emplace_back(DraftStage{layers[i].first, layers[i].second, {}});
    for (const Unit& unit : parts[i]) {
      const int degree = world.smallest_degree(unit.crew.pool, microbatch_size, stage.first_layer, stage.last_layer);
      if (degree > 0 && degree <= unit.crew.degree) stage.add(unit.crew);
    }
    if (stage.crews.empty()) return;
  }
  visit(draft);
}

template <class VisitShape>
void visit_shapes(const World& world, const VisitShape& visit_shape) {
  const int most_stages = std::min({kMostStages, world.layers(), world.most_gpus()});
  for (const PoolOrder& order : pool_orders(world)) {
    for (const int size : world.job.training.microbatch_sizes) {
      for (int stages = 1; stages <= most_stages; ++stages) visit_shape(order, size, stages);
    }
  }
}

}  // namespace

void visit_even_seeds(const World& world, const IsHopeless& is_hopeless, const Visit& visit) {
  const std::vector<Floors> floors = all_floors(world);
  visit_shapes(world, [&](const PoolOrder& order, int size, int stages) {
    EvenSeeds seeds(world, {order, size, stages});
    for (const Floors& each : floors) seeds.visit(each, is_hopeless, visit);
  });
}

void visit_uneven_seeds(const World& world, const Visit& visit) {
  visit_shapes(world,
               [&](const PoolOrder& order, int size, int stages) { visit_uneven(world, order, size, stages, visit); });
}

}  // namespace sailor
