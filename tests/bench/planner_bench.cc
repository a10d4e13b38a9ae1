// How long the planner takes, from one node to thousands of mixed GPUs, and how fast the simulator answers it, in
// closed form and operation by operation.
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

// `goal`: seconds that it should take at most; `make bench` reports whether it does. `bound_ratio`: throughput of the
// plan over the bound that was proved beside it.
void plan(benchmark::State& state, const sailor::ClusterState& cluster, double goal) {
  const sailor::Simulator simulator;
  const sailor::JobSpec job = opt_350m();
  double ratio = 0;
  for (auto _ : state) {
    const auto planned = sailor::Planner(simulator).plan(job, cluster, {}, {});
    if (!planned) return state.SkipWithError(planned.error().message.c_str());
    ratio = planned->bound_ratio();
  }
  state.counters["bound_ratio"] = ratio;
  state.counters["goal"] = goal;
}

void BM_PlanOneType(benchmark::State& state) {
  plan(state, a_cluster().pool(kZone, "nvidia-tesla-a100", static_cast<int>(state.range(0)) / 4, 4), 0.3);
}
BENCHMARK(BM_PlanOneType)->Arg(32)->Arg(512)->Arg(2048)->Unit(benchmark::kMillisecond);

void BM_Plan128A100And384V100(benchmark::State& state) {
  plan(state, a_cluster().pool(kZone, "nvidia-tesla-a100", 32, 4).pool(kZone, "nvidia-tesla-v100", 96, 4), 0.3);
}
BENCHMARK(BM_Plan128A100And384V100)->Unit(benchmark::kMillisecond);

// So many GPUs of each of three types.
void BM_PlanThreeTypes(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0)) / 4;
  plan(state,
       a_cluster()
           .pool(kZone, "nvidia-tesla-a100", nodes, 4)
           .pool(kZone, "nvidia-tesla-v100", nodes, 4)
           .pool(kZone, "nvidia-gh200", nodes, 4),
       0.5);
}
BENCHMARK(BM_PlanThreeTypes)->Arg(40)->Arg(84)->Arg(512)->Unit(benchmark::kMillisecond);

// Ten regions, three types, 10,240 GPUs.
void BM_PlanTenRegions(benchmark::State& state) {
  sailor::testing::ClusterBuilder cluster;
  for (const char* region : {"us-central1", "us-west1", "us-west2", "us-east1", "us-east4", "europe-west1",
                             "europe-west4", "europe-north1", "asia-east1", "asia-south1"}) {
    const std::string zone = std::string(region) + "-a";
    const int a100_nodes = zone == kZone ? 96 : 86;  // 10,240 in all
    cluster.pool(zone, "nvidia-tesla-a100", a100_nodes, 4)
        .pool(zone, "nvidia-tesla-v100", 85, 4)
        .pool(zone, "nvidia-gh200", 84, 4);
  }
  plan(state, cluster, 2);
}
BENCHMARK(BM_PlanTenRegions)->Unit(benchmark::kMillisecond);

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

// Two kinds of replicas in every stage, 16 of each: no closed form is right, the first rounds are played.
void BM_QuoteOfUnevenReplicas(benchmark::State& state) {
  const sailor::Simulator simulator;
  const sailor::JobSpec job = opt_350m();
  const sailor::ClusterState cluster =
      a_cluster().pool(kZone, "nvidia-tesla-a100", 32, 4).pool(kZone, "nvidia-tesla-v100", 32, 4);
  const auto costs = simulator.prepare(job, cluster, std::vector<int>{1}).value();
  auto plan = sailor::testing::an_even_plan(job, cluster.pools[0].key, 8, 32, 4);
  for (sailor::Stage& stage : plan.stages) {
    for (std::size_t r = 0; r < stage.replicas.size(); ++r) {
      const bool is_slow = r % 2 == 1;
      stage.replicas[r].microbatches = is_slow ? 4 : 12;
      if (is_slow) stage.replicas[r].pool = cluster.pools[1].key;
    }
  }
  const auto grouped = sailor::grouped(plan, cluster).value();
  for (auto _ : state) benchmark::DoNotOptimize(costs->quote(grouped));
}
BENCHMARK(BM_QuoteOfUnevenReplicas);

// 64 stages, 1,024 microbatches: making the schedule and timing it operation by operation.
void BM_EventTiming(benchmark::State& state) {
  const auto replicas = static_cast<int>(state.range(0));
  sailor::Plan plan{"opt-350m", 1024, 1, {}};
  sailor::ScheduleTimes times;
  for (int i = 0; i < 64; ++i) {
    plan.stages.push_back(
        {i, i + 1, std::vector<sailor::Replica>(static_cast<std::size_t>(replicas), {{}, 1, 1024 / replicas})});
    const sailor::Nanoseconds forward(100'000 + 1'000 * (i * 37 % 11));
    times.replicas.emplace_back(static_cast<std::size_t>(replicas), sailor::ReplicaTimes{forward, 2 * forward});
    times.links.push_back({{sailor::Nanoseconds(20'000), sailor::Nanoseconds(10'000)}});
  }
  for (auto _ : state) {
    const auto schedule = sailor::make_schedule(plan, times, sailor::SchedulePolicy::kFlow);
    benchmark::DoNotOptimize(sailor::time_step(schedule, times, {}));
  }
  state.counters["goal"] = 0.05;
}
BENCHMARK(BM_EventTiming)->Arg(1)->Arg(32)->Unit(benchmark::kMillisecond);

}  // namespace
