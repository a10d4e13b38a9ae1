// What a job could gain if its pipelines were of two kinds that divide the layers each in its own way, as those of
// Malleus (SIGMOD'25) may. In our plans all replicas of a stage have the same layers.
//
// The cluster is divided into two parts. The planner plans each part for its share of the batch, and the parts sum
// their gradients at the end of a step. So both parts are plans that the simulator has priced. What is added is the
// price of the sum over both.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/model/model_spec.h"
#include "planner/planner.h"
#include "tests/support/slow_gpus.h"

namespace sailor::testing {

inline constexpr int kGpusOfNode = 8;

// A part of a cluster that trains with a part of the batch.
class ClusterPart {
 public:
  ClusterPart(const Estimator& estimator, const LargeShape& model, SlowSituation situation)
      : estimator_(estimator), model_(model), situation_(std::move(situation)), cluster_(slowed_gpus(situation_)) {}

  [[nodiscard]] double speed() const { return situation_.gpus / situation_.optimum(); }
  [[nodiscard]] const SlowSituation& situation() const { return situation_; }

  struct Planned {
    double seconds = std::numeric_limits<double>::infinity();
    Plan plan;
  };
  // The plan of a step with `batch` samples.
  const Planned& planned(int batch) {
    const auto [found, is_new] = known_.try_emplace(batch);
    if (!is_new || batch == 0) return found->second;
    JobSpec job = job_with(batch);
    if (const auto plan = Planner(estimator_).plan(job, cluster_, {}, {})) {
      found->second = {plan->estimate.iteration.value(), plan->plan};
    }
    return found->second;
  }

  // The part of the sum over both parts that is not hidden behind the last backward pass. Both parts send each other
  // their gradients, 4 bytes a parameter; every GPU of a stage sends its share.
  [[nodiscard]] double sum_with_other_part(const Planned& planned) const {
    constexpr double kBytesPerParameter = 4;
    const JobSpec job = job_with(planned.plan.global_batch_size);
    const auto costs = estimator_.prepare(job, cluster_, std::vector<int>{1, 2, 4, 8}).value();
    double longest = 0;
    for (const Stage& stage : planned.plan.stages) {
      double gpus = 0;
      Seconds backward;
      int buckets = 1;
      for (const Replica& replica : stage.replicas) {
        const auto pool = std::ranges::find(cluster_.pools, replica.pool, &Pool::key) - cluster_.pools.begin();
        const StageNeeds needs = costs->stage_needs({.layers = {stage.first_layer, stage.last_layer},
                                                     .pool = static_cast<int>(pool),
                                                     .point = {planned.plan.microbatch_size, replica.tensor_parallel}});
        gpus += replica.tensor_parallel;
        backward = std::max(backward, needs.backward);
        buckets = needs.buckets;
      }
      double parameters = 0;
      for (int layer = stage.first_layer; layer < stage.last_layer; ++layer) {
        parameters += static_cast<double>(layer_parameters(job.model, layer));
      }
      const Seconds sum = costs->transfer(Bytes(kBytesPerParameter * parameters / gpus), 0, 0);
      longest = std::max(longest, exposed_reduction(sum, backward, buckets).value());
    }
    return longest;
  }

 private:
  [[nodiscard]] JobSpec job_with(int batch) const {
    JobSpec job = a_large_job(model_);
    job.training.global_batch_size = batch;
    std::erase_if(job.training.microbatch_sizes, [&](int size) { return batch % size != 0; });
    return job;
  }

  const Estimator& estimator_;
  const LargeShape& model_;
  SlowSituation situation_;
  ClusterState cluster_;
  std::map<int, Planned> known_;
};

// The step of both parts, and without the sum over both.
struct TwoCuts {
  double seconds = std::numeric_limits<double>::infinity();
  double without_sum = std::numeric_limits<double>::infinity();
};

inline TwoCuts step_of(ClusterPart& a, ClusterPart& b, int of_a, int batch) {
  const auto& first = a.planned(of_a);
  const auto& second = b.planned(batch - of_a);
  TwoCuts step;
  step.without_sum = std::max(first.seconds, second.seconds);
  if (std::isinf(step.without_sum)) return step;
  step.seconds = step.without_sum + std::max(a.sum_with_other_part(first), b.sum_with_other_part(second));
  return step;
}

// The best division of the batch: starts in proportion to the speeds of the parts and goes on while that helps.
inline TwoCuts best_division(ClusterPart& a, ClusterPart& b, int batch, double known) {
  const auto due = static_cast<int>(std::lround(batch * a.speed() / (a.speed() + b.speed())));
  int of_a = std::clamp(due, 1, batch - 1);
  TwoCuts best;
  for (int step = 0; step < 6; ++step) {
    const TwoCuts next = step_of(a, b, of_a, batch);
    best.seconds = std::min(best.seconds, next.seconds);
    best.without_sum = std::min(best.without_sum, next.without_sum);
    if (step == 0 && next.without_sum > known * 1.2) break;
    const int wanted = a.planned(of_a).seconds > b.planned(batch - of_a).seconds ? of_a - 1 : of_a + 1;
    if (wanted < 1 || wanted >= batch || (step > 0 && next.without_sum > best.without_sum * 1.05)) break;
    of_a = wanted;
  }
  return best;
}

// Tries every set of slow nodes with every number of other nodes as one part. `known` is the time with one cut.
inline TwoCuts step_with_two_cuts(const Estimator& estimator, const LargeShape& model, const SlowSituation& situation,
                                  double known) {
  const int batch = a_large_job(model).training.global_batch_size;
  const int nodes = situation.gpus / kGpusOfNode;
  const auto slow = static_cast<int>(situation.nodes.size());
  TwoCuts best;
  for (unsigned set = 1; set < (1U << static_cast<unsigned>(slow)); ++set) {
    SlowSituation a{"a", 0, {}};
    SlowSituation b{"b", 0, {}};
    for (int i = 0; i < slow; ++i) {
      const bool is_in_a = ((set >> static_cast<unsigned>(i)) & 1U) != 0;
      (is_in_a ? a : b).nodes.push_back(situation.nodes[static_cast<std::size_t>(i)]);
    }
    for (int others = 0; others <= nodes - slow; ++others) {
      a.gpus = kGpusOfNode * (static_cast<int>(a.nodes.size()) + others);
      b.gpus = situation.gpus - a.gpus;
      if (b.gpus == 0) continue;
      ClusterPart first(estimator, model, a);
      ClusterPart second(estimator, model, b);
      const TwoCuts next = best_division(first, second, batch, std::min(known, best.without_sum));
      best.seconds = std::min(best.seconds, next.seconds);
      best.without_sum = std::min(best.without_sum, next.without_sum);
    }
  }
  return best;
}

}  // namespace sailor::testing
