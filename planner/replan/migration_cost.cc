#include "planner/replan/migration_cost.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sailor {
MigrationCost::MigrationCost(const PlanningProblem& problem, const GroupedPlan& running, const ClusterState& cluster)
    : problem_(problem), kinds_(kinds_of(problem.cluster.pools)), now_(holders_of(running, cluster)) {
  if (cluster == problem.cluster) running_ = running;
  for (int layer = 0; layer < problem.layers(); ++layer) state_.push_back(problem.estimator->state_of_layer(layer));
}

// Pools are in the order of their keys, so pools that differ only in the grade are next to each other.
std::vector<int> MigrationCost::kinds_of(const std::vector<Pool>& pools) {
  std::vector<int> kinds;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const bool is_new = i == 0 || !pools[i].key.is_like(pools[i - 1].key);
    kinds.push_back(is_new ? static_cast<int>(i) : kinds.back());
  }
  return kinds;
}

std::optional<int> MigrationCost::pool_like(const PoolKey& key) const {
  const auto& pools = problem_.cluster.pools;
  auto found = std::ranges::find(pools, key, &Pool::key);
  if (found == pools.end()) {
    found = std::ranges::find_if(pools, [&](const Pool& pool) { return pool.key.is_like(key); });
  }
  if (found == pools.end()) return std::nullopt;
  return static_cast<int>(found - pools.begin());
}

std::vector<MigrationCost::StateHolders> MigrationCost::holders_of(const GroupedPlan& plan,
                                                                   const ClusterState& cluster) const {
  std::vector<StateHolders> holders;
  for (const GroupedStage& stage : plan.stages) {
    for (const ReplicaGroup& group : stage.groups) {
      const auto pool = pool_like(cluster.pools[static_cast<std::size_t>(group.pool)].key);
      if (pool) holders.push_back({*pool, stage.layers, group.tensor_parallel, group.gpus()});
    }
  }
  return holders;
}

// A GPU that holds a smaller part of a layer than it needs misses only the difference.
MigrationCost::MissingState MigrationCost::missing_state_of(const StateHolders& next, const StateHolders* now) const {
  MissingState missing{next, std::vector<Bytes>(state_.size()), Bytes(0)};
  for (int layer = next.layers.first; layer < next.layers.last; ++layer) {
    const bool is_held = now != nullptr && now->layers.contains(layer);
    const double held = is_held ? 1.0 / std::max(next.tensor_parallel, now->tensor_parallel) : 0;
    const auto at = static_cast<std::size_t>(layer);
    missing.layers[at] = state_[at] * (1.0 / next.tensor_parallel - held);
    missing.sum += missing.layers[at];
  }
  return missing;
}

// Pairs the GPUs that hold state now with those that will hold it. Pairs that keep the most state are made first.
std::vector<MigrationCost::MissingState> MigrationCost::missing_states_of(const GroupedPlan& next) const {
  struct Pair {
    double kept = 0;
    std::size_t now = 0;
    std::size_t then = 0;
  };
  std::vector<StateHolders> now = now_;
  std::vector<StateHolders> then = holders_of(next, problem_.cluster);
  std::vector<Pair> pairs;
  for (std::size_t n = 0; n < now.size(); ++n) {
    for (std::size_t t = 0; t < then.size(); ++t) {
      if (kind_of(now[n].pool) != kind_of(then[t].pool)) continue;
      const Bytes kept = missing_state_of(then[t], nullptr).sum - missing_state_of(then[t], &now[n]).sum;
      if (kept > Bytes(0)) pairs.push_back({kept.value(), n, t});
    }
  }
  std::ranges::stable_sort(pairs, std::greater<>(), &Pair::kept);
  std::vector<MissingState> found;
  const auto match = [&](StateHolders& receiver, const StateHolders* holder, int gpus) {
    if (gpus == 0) return;
    found.push_back(missing_state_of(receiver, holder));
    found.back().receivers.gpus = gpus;
    receiver.gpus -= gpus;
  };
  for (const Pair& pair : pairs) {
    const int gpus = std::min(now[pair.now].gpus, then[pair.then].gpus);
    match(then[pair.then], &now[pair.now], gpus);
    now[pair.now].gpus -= gpus;
  }
  for (StateHolders& receiver : then) match(receiver, nullptr, receiver.gpus);
  std::erase_if(found, [](const MissingState& missing) { return missing.sum <= Bytes(0); });
  return found;
}

// Assumes that all GPUs of a node miss the same state, and that they receive it over the fastest path from any pool
// that has a part of it. If no pool has it, the state comes from a checkpoint; the estimate then uses the fastest path
// from any pool.
Seconds MigrationCost::receive_time(const MissingState& missing, const std::vector<StateHolders>& senders) const {
  const int neighbours = std::min(missing.receivers.gpus, problem_.pool(missing.receivers.pool).gpus_per_node);
  Seconds fastest(std::numeric_limits<double>::infinity());
  const auto keep_if_faster = [&](int pool) {
    fastest = std::min(fastest, problem_.estimator->transfer(missing.sum * neighbours, pool, missing.receivers.pool));
  };
  for (const StateHolders& holder : senders) {
    const LayerRange& needed = missing.receivers.layers;
    if (holder.layers.first < needed.last && needed.first < holder.layers.last) keep_if_faster(holder.pool);
  }
  for (int pool = 0; pool < problem_.pools() && fastest == Seconds(std::numeric_limits<double>::infinity()); ++pool) {
    keep_if_faster(pool);
  }
  return fastest;
}

// All GPUs that hold a layer share the work of sending it.
Seconds MigrationCost::send_time(const std::vector<MissingState>& all, const std::vector<StateHolders>& holders) const {
  std::vector<Bytes> wanted(state_.size());
  for (const MissingState& missing : all) {
    for (std::size_t layer = 0; layer < state_.size(); ++layer)
      wanted[layer] += missing.layers[layer] * missing.receivers.gpus;
  }
  std::vector<int> senders(state_.size());
  for (const StateHolders& holder : holders) {
    for (int layer = holder.layers.first; layer < holder.layers.last; ++layer) {
      senders[static_cast<std::size_t>(layer)] += holder.gpus;
    }
  }
  Seconds longest(0);
  for (const StateHolders& holder : holders) {
    Bytes each(0);
    for (int layer = holder.layers.first; layer < holder.layers.last; ++layer) {
      const auto at = static_cast<std::size_t>(layer);
      each += wanted[at] / senders[at];
    }
    const int neighbours = std::min(holder.gpus, problem_.pool(holder.pool).gpus_per_node);
    longest = std::max(longest, problem_.estimator->transfer(each * neighbours, holder.pool, holder.pool));
  }
  return longest;
}

Seconds MigrationCost::transfer_time(const std::vector<MissingState>& all,
                                     const std::vector<StateHolders>& senders) const {
  if (all.empty()) return Seconds(0);
  Seconds longest = send_time(all, senders);
  for (const MissingState& missing : all) longest = std::max(longest, receive_time(missing, senders));
  return longest;
}

Seconds MigrationCost::pause_for(const GroupedPlan& next) const {
  if (running_ && next == *running_) return Seconds(0);
  return kRegroup + transfer_time(missing_states_of(next), now_);
}

Seconds MigrationCost::time_to_hand_over(const GroupedPlan& leaving, const GroupedPlan& next) const {
  std::vector<MissingState> all = missing_states_of(next);
  for (MissingState& missing : all) {
    for (const StateHolders& holder : now_) {
      for (int layer = holder.layers.first; layer < holder.layers.last; ++layer) {
        missing.sum -= std::exchange(missing.layers[static_cast<std::size_t>(layer)], Bytes(0));
      }
    }
  }
  std::erase_if(all, [](const MissingState& missing) { return missing.sum <= Bytes(1); });  // rounding
  return transfer_time(all, holders_of(leaving, problem_.cluster));
}

Bytes MigrationCost::bytes_to_move(const GroupedPlan& next) const {
  Bytes sum(0);
  for (const MissingState& missing : missing_states_of(next)) sum += missing.sum * missing.receivers.gpus;
  return sum;
}

double value_with_pause(double value, Seconds pause, Seconds lifetime) {
  constexpr double kBeyondAnyValue = 1e100;
  if (pause >= lifetime) return kBeyondAnyValue * (1 + pause.value());
  return value * (lifetime / (lifetime - pause));
}

}  // namespace sailor
