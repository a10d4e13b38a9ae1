#include "planner/search/pool_orders.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace sailor {
namespace {

constexpr std::size_t kPermutedRegions = 3;  // beyond that only orders by size are tried: n! is too many

// Seconds of the whole model on one GPU, with the smallest microbatch: ranks types, no more.
std::vector<double> pool_slowness(const World& world) {
  std::vector<double> slowness;
  for (int pool = 0; pool < world.pools(); ++pool) {
    const int size = world.job.training.microbatch_sizes.front();
    slowness.push_back(world.pass(pool, {size, 1}, {0, world.layers()}));
  }
  return slowness;
}

std::vector<std::vector<int>> accelerators_by_speed(const World& world, const std::vector<double>& slowness) {
  std::map<std::string_view, std::vector<int>> pools;
  for (int pool = 0; pool < world.pools(); ++pool) pools[world.pool(pool).key.accelerator.str()].push_back(pool);
  std::vector<std::vector<int>> types;
  types.reserve(pools.size());
  for (auto& [name, members] : pools) types.push_back(std::move(members));
  std::ranges::stable_sort(types, {}, [&](const auto& type) { return slowness[static_cast<std::size_t>(type[0])]; });
  return types;
}

// Which types take part: the fastest few, and each alone.
std::vector<std::set<int>> pool_choices(const World& world, const std::vector<double>& slowness) {
  std::vector<std::set<int>> choices;
  std::set<int> fastest;
  for (const auto& type : accelerators_by_speed(world, slowness)) {
    fastest.insert(type.begin(), type.end());
    choices.push_back(fastest);
    choices.emplace_back(type.begin(), type.end());
  }
  for (int pool = 0; pool < world.pools() && world.pools() <= 8; ++pool) choices.push_back({pool});
  std::ranges::sort(choices);
  choices.erase(std::unique(choices.begin(), choices.end()), choices.end());
  return choices;
}

std::vector<PoolBlock> blocks_by_region(const World& world, const std::set<int>& choice,
                                        const std::vector<double>& slowness, bool fastest_first) {
  std::map<std::string_view, PoolBlock> regions;
  for (const int pool : choice) regions[world.pool(pool).region.str()].push_back(pool);
  std::vector<PoolBlock> blocks;
  for (auto& [region, pools] : regions) {
    std::ranges::stable_sort(pools, {}, [&](int pool) {
      const double seconds = slowness[static_cast<std::size_t>(pool)];
      return fastest_first ? seconds : -seconds;
    });
    blocks.push_back(std::move(pools));
  }
  return blocks;
}

int gpus_of(const PoolBlock& block, const World& world) {
  int gpus = 0;
  for (const int pool : block) gpus += world.pool(pool).free_gpus();
  return gpus;
}

using BlockKind = std::vector<std::tuple<std::string_view, double, std::vector<std::pair<int, int>>>>;

// What tells the pools of a region from those of another, but for the place.
BlockKind kind_of(const PoolBlock& block, const World& world) {
  BlockKind kind;
  for (const int index : block) {
    const Pool& pool = world.pool(index);
    auto& [accelerator, price, nodes] = kind.emplace_back();
    accelerator = pool.key.accelerator.str();
    price = pool.price_per_gpu.value();
    for (const NodeGroup& group : pool.nodes) nodes.emplace_back(group.free_gpus, group.count);
  }
  return kind;
}

void add_region_orders(std::vector<PoolBlock> blocks, const World& world, std::vector<PoolOrder>& orders) {
  std::set<BlockKind> known;
  for (const PoolBlock& block : blocks) {
    if (known.insert(kind_of(block, world)).second) orders.push_back({block});
  }
  if (blocks.size() == 1) return;
  if (blocks.size() <= kPermutedRegions) {
    std::ranges::sort(blocks);
    do {
      orders.push_back(blocks);
    } while (std::ranges::next_permutation(blocks).found);
    return;
  }
  std::ranges::stable_sort(blocks, std::greater<>(), [&](const PoolBlock& block) { return gpus_of(block, world); });
  orders.push_back(blocks);
  std::ranges::reverse(blocks);
  orders.push_back(blocks);
}

}  // namespace

std::vector<PoolOrder> pool_orders(const World& world) {
  const std::vector<double> slowness = pool_slowness(world);
  std::vector<PoolOrder> orders;
  for (const std::set<int>& choice : pool_choices(world, slowness)) {
    add_region_orders(blocks_by_region(world, choice, slowness, true), world, orders);
    add_region_orders(blocks_by_region(world, choice, slowness, false), world, orders);
  }
  std::ranges::sort(orders);
  orders.erase(std::unique(orders.begin(), orders.end()), orders.end());
  return orders;
}

}  // namespace sailor
