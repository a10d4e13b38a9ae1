// Plans large models in situations with slow GPUs: how long planning takes, and how much longer a step gets.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "planner/planner.h"
#include "simulator/simulator.h"
#include "tests/support/layer_cuts.h"
#include "tests/support/two_cuts.h"

namespace {

using sailor::testing::LargeShape;
using sailor::testing::SlowSituation;

const sailor::Simulator& simulator() {
  static const sailor::Simulator one({}, sailor::google_cloud_network(), sailor::trainer_execution_model());
  return one;
}

sailor::Result<sailor::PlannedJob> planned(const LargeShape& model, const sailor::ClusterState& cluster) {
  return sailor::Planner(simulator()).plan(sailor::testing::a_large_job(model), cluster, {}, {});
}

double iteration_of(const LargeShape& model, const sailor::ClusterState& cluster) {
  const auto plan = planned(model, cluster);
  return plan ? plan->estimate.iteration.value() : 0;
}

double without_slow_gpus(const LargeShape& model, int gpus) {
  static std::map<std::pair<std::string, int>, double> known;
  const auto [found, is_new] = known.try_emplace({model.name, gpus});
  if (is_new) found->second = iteration_of(model, sailor::testing::healthy_gpus(gpus));
  return found->second;
}

// The seconds of a block on a group, from the same tables as those of our plans.
class BlockTimes {
 public:
  explicit BlockTimes(const LargeShape& model)
      : job_(sailor::testing::a_large_job(model)), cluster_(sailor::testing::healthy_gpus(8)) {
    costs_ = simulator().prepare(job_, cluster_, std::vector<int>{1, 2, 4, 8}).value();
  }
  double operator()(int tensor_parallel, double slowdown) const {
    const int middle = job_.model.layer_count() / 2;
    return slowdown * costs_->stage_needs({{middle, middle + 1}, 0, {1, tensor_parallel}}).pass().value();
  }

 private:
  sailor::JobSpec job_;
  sailor::ClusterState cluster_;
  std::unique_ptr<sailor::JobEstimator> costs_;
};

void plan_in(benchmark::State& state, const LargeShape& model, const SlowSituation& situation) {
  const sailor::ClusterState cluster = sailor::testing::slowed_gpus(situation);
  double iteration = 0;
  for (auto _ : state) iteration = iteration_of(model, cluster);
  if (iteration == 0) return state.SkipWithError("no plan");
  const double ratio = iteration / without_slow_gpus(model, situation.gpus);
  const bool is_worth_keeping = situation.name >= "D";
  state.counters["goal"] = 0.5;
  state.counters["over_healthy"] = ratio;
  state.counters["over_optimum"] = ratio / situation.optimum();
  state.counters["goal_over_optimum"] = 1.03;
  state.counters["over_dropping"] = ratio / situation.without_slow_gpus();
  if (is_worth_keeping) state.counters["goal_over_dropping"] = 1;
  const int batch = sailor::testing::a_large_job(model).training.global_batch_size;
  state.counters["over_layer_cuts"] =
      ratio / sailor::testing::ratio_with_layer_cuts(model, situation, batch, BlockTimes(model));
}

// 64 GPUs, of which 20 have different factors, from 1.15 to 14.45: two or three on each node.
SlowSituation twenty_factors() {
  SlowSituation situation{"20 factors", 64, std::vector<std::vector<double>>(8)};
  for (std::size_t i = 0; i < 20; ++i) situation.nodes[i % 8].push_back(1.15 + 0.7 * static_cast<double>(i));
  return situation;
}

void plan_twenty_factors(benchmark::State& state, const LargeShape& model) {
  const SlowSituation situation = twenty_factors();
  const sailor::ClusterState cluster = sailor::testing::slowed_gpus(situation);
  double iteration = 0;
  for (auto _ : state) iteration = iteration_of(model, cluster);
  if (iteration == 0) return state.SkipWithError("no plan");
  const double ratio = iteration / without_slow_gpus(model, situation.gpus);
  state.counters["goal"] = 0.5;
  state.counters["over_healthy"] = ratio;
  state.counters["over_optimum"] = ratio / situation.optimum();
  state.counters["over_dropping"] = ratio / situation.without_slow_gpus();
}

// What pipelines of two kinds, each with its own cut of the layers to stages, would add.
void cut_twice(benchmark::State& state, const LargeShape& model, const SlowSituation& situation) {
  const double one_cut = iteration_of(model, sailor::testing::slowed_gpus(situation));
  sailor::testing::TwoCuts two;
  for (auto _ : state) two = sailor::testing::step_with_two_cuts(simulator(), model, situation, one_cut);
  if (std::isinf(two.seconds)) return state.SkipWithError("no two parts of the cluster hold the model each");
  state.counters["over_one_cut"] = two.seconds / one_cut;
  state.counters["over_one_cut_without_sum"] = two.without_sum / one_cut;
}

const bool kAreRegistered = [] {
  for (const LargeShape& model : sailor::testing::large_shapes()) {
    for (const SlowSituation& situation : sailor::testing::slow_situations()) {
      benchmark::RegisterBenchmark(("plan " + model.name + " in situation " + situation.name).c_str(),
                                   [&](benchmark::State& state) { plan_in(state, model, situation); })
          ->Unit(benchmark::kMillisecond);
      benchmark::RegisterBenchmark(("two cuts of " + model.name + " in situation " + situation.name).c_str(),
                                   [&](benchmark::State& state) { cut_twice(state, model, situation); })
          ->Unit(benchmark::kMillisecond)
          ->Iterations(1);
    }
    benchmark::RegisterBenchmark(("plan " + model.name + " with 20 slow GPUs of 64, all different").c_str(),
                                 [&](benchmark::State& state) { plan_twenty_factors(state, model); })
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
