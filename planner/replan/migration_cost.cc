#include "planner/replan/migration_cost.h"

#include <algorithm>
#include <limits>

namespace sailor {
namespace {

constexpr Seconds kRegroup(2);  // workers agree on the new plan and connect, whatever there is to send

}  // namespace

Moving::Moving(const World& world, const GroupedPlan& running)
    : world_(world), running_(running), now_(holders_of(running)) {
  for (int layer = 0; layer < world.layers(); ++layer) state_.push_back(world.costs->state_of_layer(layer));
}

std::vector<Moving::Holder> Moving::holders_of(const GroupedPlan& plan) {
  std::vector<Holder> holders;
  for (const GroupedStage& stage : plan.stages) {
    for (const ReplicaGroup& group : stage.groups) {
      holders.push_back({group.pool, stage.first_layer, stage.last_layer, group.tensor_parallel, group.gpus()});
    }
  }
  return holders;
}

// Of GPUs that hold smaller parts of a layer now, the rest of their part.
Moving::Lack Moving::lack_of(const Holder& next, const Holder* now) const {
  Lack lack{next, std::vector<Bytes>(state_.size()), Bytes(0)};
  for (int layer = next.first_layer; layer < next.last_layer; ++layer) {
    const bool is_held = now != nullptr && layer >= now->first_layer && layer < now->last_layer;
    const double held = is_held ? 1.0 / std::max(next.degree, now->degree) : 0;
    const auto at = static_cast<std::size_t>(layer);
    lack.layers[at] = state_[at] * (1.0 / next.degree - held);
    lack.sum += lack.layers[at];
  }
  return lack;
}

// The pair of those who hold and those who will that leaves the least to send comes first.
std::vector<Moving::Lack> Moving::lacks_of(const GroupedPlan& next) const {
  struct Pair {
    double kept = 0;
    std::size_t now = 0;
    std::size_t then = 0;
  };
  std::vector<Holder> now = now_;
  std::vector<Holder> then = holders_of(next);
  std::vector<Pair> pairs;
  for (std::size_t n = 0; n < now.size(); ++n) {
    for (std::size_t t = 0; t < then.size(); ++t) {
      if (now[n].pool != then[t].pool) continue;
      const Bytes kept = lack_of(then[t], nullptr).sum - lack_of(then[t], &now[n]).sum;
      if (kept > Bytes(0)) pairs.push_back({kept.value(), n, t});
    }
  }
  std::ranges::stable_sort(pairs, std::greater<>(), &Pair::kept);
  std::vector<Lack> lacks;
  const auto match = [&](Holder& receiver, const Holder* holder, int gpus) {
    if (gpus == 0) return;
    lacks.push_back(lack_of(receiver, holder));
    lacks.back().who.gpus = gpus;
    receiver.gpus -= gpus;
  };
  for (const Pair& pair : pairs) {
    const int gpus = std::min(now[pair.now].gpus, then[pair.then].gpus);
    match(then[pair.then], &now[pair.now], gpus);
    now[pair.now].gpus -= gpus;
  }
  for (Holder& receiver : then) match(receiver, nullptr, receiver.gpus);
  std::erase_if(lacks, [](const Lack& lack) { return lack.sum <= Bytes(0); });
  return lacks;
}

// Of nodes whose GPUs all lack the same, over the fastest way from a pool that has any of it; from a checkpoint, which
// is taken to be no nearer than the nearest pool, if none has.
Seconds Moving::to_receive(const Lack& lack) const {
  const int neighbours = std::min(lack.who.gpus, world_.pool(lack.who.pool).gpus_per_node);
  Seconds fastest(std::numeric_limits<double>::infinity());
  const auto offer = [&](int pool) {
    fastest = std::min(fastest, world_.costs->transfer(lack.sum * neighbours, pool, lack.who.pool));
  };
  for (const Holder& holder : now_) {
    if (holder.first_layer < lack.who.last_layer && lack.who.first_layer < holder.last_layer) offer(holder.pool);
  }
  for (int pool = 0; pool < world_.pools() && fastest == Seconds(std::numeric_limits<double>::infinity()); ++pool) {
    offer(pool);
  }
  return fastest;
}

// The GPUs that hold a layer share the sending of it.
Seconds Moving::to_send(const std::vector<Lack>& lacks) const {
  std::vector<Bytes> wanted(state_.size());
  for (const Lack& lack : lacks) {
    for (std::size_t layer = 0; layer < state_.size(); ++layer) wanted[layer] += lack.layers[layer] * lack.who.gpus;
  }
  std::vector<int> senders(state_.size());
  for (const Holder& holder : now_) {
    for (int layer = holder.first_layer; layer < holder.last_layer; ++layer) {
      senders[static_cast<std::size_t>(layer)] += holder.gpus;
    }
  }
  Seconds longest(0);
  for (const Holder& holder : now_) {
    Bytes each(0);
    for (int layer = holder.first_layer; layer < holder.last_layer; ++layer) {
      const auto at = static_cast<std::size_t>(layer);
      each += wanted[at] / senders[at];
    }
    const int neighbours = std::min(holder.gpus, world_.pool(holder.pool).gpus_per_node);
    longest = std::max(longest, world_.costs->transfer(each * neighbours, holder.pool, holder.pool));
  }
  return longest;
}

Seconds Moving::pause_for(const GroupedPlan& next) const {
  if (next == running_) return Seconds(0);
  const std::vector<Lack> lacks = lacks_of(next);
  if (lacks.empty()) return kRegroup;
  Seconds longest = to_send(lacks);
  for (const Lack& lack : lacks) longest = std::max(longest, to_receive(lack));
  return kRegroup + longest;
}

Bytes Moving::to_move(const GroupedPlan& next) const {
  Bytes sum(0);
  for (const Lack& lack : lacks_of(next)) sum += lack.sum * lack.who.gpus;
  return sum;
}

double value_with_pause(double value, Seconds pause, Seconds lifetime) {
  if (pause >= lifetime) return std::numeric_limits<double>::infinity();
  return value * (lifetime / (lifetime - pause));
}

}  // namespace sailor
