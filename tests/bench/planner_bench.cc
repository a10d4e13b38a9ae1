// How long the planner takes, from one node to thousands of mixed GPUs, and how fast the simulator answers it.
#include <benchmark/benchmark.h>

#include "planner/planner.h"
#include "simulator/simulator.h"
#include "tests/support/builders.h"

namespace {

using sailor::testing::a_cluster;
using sailor::testing::a_job;

const std::string kZone = "us-central1-a";

sailor::JobSpec opt_350m() {
  return a_job().model("opt-350m").sequence_length(2048).batch(1024).microbatch_sizes({1, 2, 4, 8, 16, 32});
}

// `goal`: seconds that it should take at most; `make bench` reports whether it does.
void plan(benchmark::State& state, const sailor::ClusterState& cluster) {
  const sailor::Simulator simulator;
  const sailor::JobSpec job = opt_350m();
  double ratio = 0;
  for (auto _ : state) {
    const auto planned = sailor::Planner(simulator).plan(job, cluster, {}, {});
    if (!planned) return state.SkipWithError(planned.error().message.c_str());
    ratio = planned->bound_ratio();
  }
  state.counters["bound_ratio"] = ratio;
  state.counters["goal"] = state.range(0) <= 32 ? 0.05 : 5;
}

void BM_PlanOneType(benchmark::State& state) {
  plan(state, a_cluster().pool(kZone, "nvidia-tesla-a100", static_cast<int>(state.range(0)) / 4, 4));
}
BENCHMARK(BM_PlanOneType)->Arg(32)->Arg(512)->Unit(benchmark::kMillisecond);

void BM_PlanTwoTypes(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0)) / 8;
  plan(state, a_cluster().pool(kZone, "nvidia-tesla-a100", nodes, 4).pool(kZone, "nvidia-tesla-v100", nodes, 4));
}
BENCHMARK(BM_PlanTwoTypes)->Arg(32)->Arg(512)->Unit(benchmark::kMillisecond);

// Eight stages of 32 replicas, nothing kept between calls but the tables of the job.
void BM_Quote(benchmark::State& state) {
  const sailor::Simulator simulator;
  const sailor::JobSpec job = opt_350m();
  const sailor::ClusterState cluster = a_cluster().pool(kZone, "nvidia-tesla-a100", 64, 4);
  const auto costs = simulator.prepare(job, cluster, std::vector<int>{1}).value();
  const auto even = sailor::testing::an_even_plan(job, cluster.pools[0].key, 8, 32, 1);
  const auto grouped = sailor::grouped(even, cluster).value();
  for (auto _ : state) benchmark::DoNotOptimize(costs->quote(grouped));
  state.counters["goal"] = 1e-5;
}
BENCHMARK(BM_Quote);

}  // namespace
