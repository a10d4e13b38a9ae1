#include "simulator/paper_formula.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sailor {
namespace {

constexpr double kWorthSaying = 0.1;  // differences up to this part of the time are not mentioned
constexpr double kEffect = 0.01;      // effects below this part of the paper's time are not named
constexpr double kGradientBytes = 4;  // per parameter
const Bytes kBucket(500e6);           // gradients are summed in buckets of this size, one after the other

int fewest_replicas(const GroupedPlan& plan) {
  int fewest = plan.stages.front().replicas();
  for (const GroupedStage& stage : plan.stages) fewest = std::min(fewest, stage.replicas());
  return fewest;
}

bool has_equal_replicas(const GroupedPlan& plan) {
  return std::ranges::all_of(
      plan.stages, [&](const GroupedStage& stage) { return stage.replicas() == plan.stages.front().replicas(); });
}

// Calls `visit` with the groups of the k-th replica of one stage and of the k-th replica of the next, for every k.
template <class Visit>
void each_pair(const GroupedStage& from, const GroupedStage& to, Visit visit) {
  std::size_t a = 0;
  std::size_t b = 0;
  int done_of_a = 0;
  int done_of_b = 0;
  while (a < from.groups.size() && b < to.groups.size()) {
    visit(from.groups[a], to.groups[b]);
    const int both = std::min(from.groups[a].count - done_of_a, to.groups[b].count - done_of_b);
    done_of_a += both;
    done_of_b += both;
    if (done_of_a == from.groups[a].count) {
      ++a;
      done_of_a = 0;
    }
    if (done_of_b == to.groups[b].count) {
      ++b;
      done_of_b = 0;
    }
  }
}

std::string of_passes(Seconds difference, const GroupedPlan& plan, const ExecutionModel& execution) {
  const auto seconds = fmt::format("{:+.3g} s", difference.value());
  if (!has_equal_replicas(plan)) {
    return "passes " + seconds + ": the formula gives every stage as many replicas as the one with the fewest";
  }
  if (!PaperFormula::can_express(plan)) {
    return "passes " + seconds + ": the formula gives slow replicas as many microbatches as fast ones";
  }
  if (difference < Seconds(0)) {
    return "passes " + seconds +
           (execution.messages_beside_passes ? ": transfers are hidden behind passes"
                                             : ": the formula adds messages to the passes of both of their ends");
  }
  return "passes " + seconds + ": messages have latency" +
         (execution.messages_by_group ? "" : " and go at one GPU's rate, where the formula takes its group's");
}

std::string of_sync(Seconds difference, const ExecutionModel& execution) {
  const auto seconds = fmt::format("{:+.3g} s", difference.value());
  if (difference > Seconds(0)) {
    return "gradients " + seconds + ": each message of the ring has latency" +
           (execution.sum_share < 1 ? fmt::format(", and sums reach {:.2g} of the network's rate", execution.sum_share)
                                    : "");
  }
  return "gradients " + seconds +
         (execution.sum_algorithm == SumAlgorithm::kFastest
              ? ": they are summed node by node, over all GPUs of a node at once"
              : ": replicas on one node use its links") +
         (execution.sums_beside_passes ? ", and while the last backward passes run" : "");
}

std::string of_update(Seconds difference) {
  return fmt::format("update {:+.3g} s: the formula counts that of one layer", difference.value());
}

}  // namespace

// The ring's messages go between GPUs of one zone, whatever zones its members are in: the public simulator takes a
// region for one zone.
PaperFormula::PaperFormula(const ClusterState& cluster, const NetworkModel& network, const PoolLinks& links,
                           const MessageRates& messages, const JobTables& tables)
    : pools_(cluster.pools.size()), ring_curves_(pools_ * pools_), links_(links), messages_(messages), tables_(tables) {
  if (network.measured.links.empty()) return;
  for (std::size_t a = 0; a < pools_; ++a) {
    for (std::size_t b = 0; b < pools_; ++b) {
      const PoolKey& from = cluster.pools[a].key;
      const bool is_measured = links.between(static_cast<int>(a), static_cast<int>(b)).curve.has_value();
      if (!is_measured) continue;
      ring_curves_[a * pools_ + b] =
          network.measured.between({from.zone, from.accelerator, 1}, {from.zone, cluster.pools[b].key.accelerator, 1});
    }
  }
}

bool PaperFormula::can_express(const GroupedPlan& plan) {
  if (!has_equal_replicas(plan)) return false;
  const int even = plan.microbatches / plan.stages.front().replicas();
  return std::ranges::all_of(plan.stages, [&](const GroupedStage& stage) {
    return std::ranges::all_of(stage.groups, [&](const ReplicaGroup& group) {
      return group.microbatches == even || group.microbatches == even + 1;
    });
  });
}

RangeNeeds PaperFormula::needs(const GroupedPlan& plan, const GroupedStage& stage, const ReplicaGroup& group) const {
  return tables_.needs(group.pool, {plan.microbatch_size, group.tensor_parallel}, plan.techniques.recomputes)
      .range(stage.layers);
}

// All GPUs of both groups send and receive at once. Where that was not measured, it goes as many times as fast as one
// GPU's as the smaller group has GPUs.
Seconds PaperFormula::message(Bytes size, const ReplicaGroup& from, const ReplicaGroup& to) const {
  const BandwidthCurve* curve = messages_.curve({from.pool, from.tensor_parallel}, {to.pool, to.tensor_parallel});
  if (curve != nullptr) return size / curve->extrapolated_at(size);
  return links_.between(from.pool, to.pool).occupancy(size) / std::min(from.tensor_parallel, to.tensor_parallel);
}

void PaperFormula::add_messages(const GroupedPlan& plan, std::size_t stage, StageTime& time) const {
  const GroupedStage& from = plan.stages[stage];
  const ReplicaGroup& sender = from.groups.front();
  const Bytes size =
      tables_.needs(sender.pool, {plan.microbatch_size, sender.tensor_parallel}, plan.techniques.recomputes)
          .output(from.layers.last - 1);
  each_pair(from, plan.stages[stage + 1], [&](const ReplicaGroup& a, const ReplicaGroup& b) {
    time.down = std::max(time.down, message(size, a, b));
    time.up = std::max(time.up, message(size, b, a));
  });
}

std::vector<PaperFormula::StageTime> PaperFormula::stage_times(const GroupedPlan& plan) const {
  std::vector<StageTime> times(plan.stages.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    for (const ReplicaGroup& group : plan.stages[i].groups) {
      const RangeNeeds one = needs(plan, plan.stages[i], group);
      times[i].pass = std::max(times[i].pass, one.forward + one.backward);
    }
    if (i + 1 < times.size()) add_messages(plan, i, times[i]);
  }
  return times;
}

Seconds PaperFormula::ring(Bytes size, int members, int pool, int other) const {
  const BandwidthCurve* curve = ring_curves_[static_cast<std::size_t>(pool) * pools_ + static_cast<std::size_t>(other)];
  const Bytes part = size / members;
  const Seconds hop =
      curve != nullptr ? part / curve->extrapolated_at(part) : links_.between(pool, other).occupancy(part);
  return hop * (2.0 * (members - 1));
}

Seconds PaperFormula::gradient_sync(const GroupedPlan& plan, const GroupedStage& stage) const {
  const int members = stage.replicas();
  if (members < 2) return Seconds(0);
  Bytes gradients;
  for (const ReplicaGroup& group : stage.groups) {
    gradients =
        std::max(gradients, Bytes(needs(plan, stage, group).whole_parameters / group.tensor_parallel * kGradientBytes));
  }
  const double full_buckets = std::floor(gradients / kBucket);
  const Bytes rest = gradients - kBucket * full_buckets;
  Seconds slowest;
  for (const ReplicaGroup& a : stage.groups) {
    for (const ReplicaGroup& b : stage.groups) {
      Seconds time = ring(kBucket, members, a.pool, b.pool) * full_buckets;
      if (rest > Bytes(0)) time += ring(rest, members, a.pool, b.pool);
      slowest = std::max(slowest, time);
    }
  }
  return slowest;
}

// The first and the last stage of several count two messages of a microbatch too, but the first of two stages counts
// one.
PaperTime PaperFormula::time_of(const GroupedPlan& plan) const {
  const std::vector<StageTime> stages = stage_times(plan);
  PaperTime paper;
  Seconds slowest;
  Seconds slowest_pass;
  Seconds sum;
  Seconds sum_of_passes;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    Seconds time = stages[i].pass;
    const bool is_last = i + 1 == stages.size();
    if (i > 0) time += stages[i - 1].up * (is_last ? 2 : 1);
    if (!is_last) time += stages[i].down * (i == 0 && stages.size() > 2 ? 2 : 1);
    slowest = std::max(slowest, time);
    slowest_pass = std::max(slowest_pass, stages[i].pass);
    sum += time;
    sum_of_passes += stages[i].pass;
    paper.gradient_sync = std::max(paper.gradient_sync, gradient_sync(plan, plan.stages[i]));
    for (const ReplicaGroup& group : plan.stages[i].groups) {
      const Seconds of_a_layer = needs(plan, plan.stages[i], group).update / plan.stages[i].layers.size();
      paper.update = std::max(paper.update, of_a_layer);
    }
  }
  const double rounds = std::ceil(static_cast<double>(plan.microbatches) / fewest_replicas(plan));
  paper.passes = slowest * (rounds - 1) + sum;
  paper.messages = paper.passes - slowest_pass * (rounds - 1) - sum_of_passes;
  return paper;
}

PaperComparison compared_with_paper(const TimeBreakdown& ours, const PaperTime& paper, const GroupedPlan& plan,
                                    const ExecutionModel& execution) {
  PaperComparison comparison{paper, {}};
  const auto add = [&](Seconds difference, auto describe) {
    if (std::abs(difference / paper.total()) >= kEffect) comparison.effects.push_back(describe(difference));
  };
  add(ours.compute + ours.bubble + ours.point_to_point - paper.passes,
      [&](Seconds difference) { return of_passes(difference, plan, execution); });
  add(ours.gradient_sync - paper.gradient_sync, [&](Seconds difference) { return of_sync(difference, execution); });
  add(ours.update - paper.update, of_update);
  return comparison;
}

std::optional<std::string> note_of(const PaperComparison& comparison, Seconds ours) {
  const Seconds total = comparison.paper.total();
  if (std::abs(ours / total - 1) <= kWorthSaying) return std::nullopt;
  return fmt::format("the Sailor paper's formula gives {:.3g} s; {}", total.value(),
                     fmt::join(comparison.effects, "; "));
}

}  // namespace sailor
