// Measures how long the planner takes, from one node to thousands of mixed GPUs, and how fast the simulator answers it,
// in closed form and operation by operation.
#include <filesystem>

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "core/manifest/files.h"
#include "core/schedule/make_schedule.h"
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

// Uses the measurements of Sailor's authors if their data is present, else times from data sheets.
sailor::Simulator a_simulator() {
  const std::filesystem::path folder = std::filesystem::path(SAILOR_SOURCE_DIR) / "../shared/data/sailor-artifact";
  if (!std::filesystem::exists(folder)) return sailor::Simulator();
  sailor::NetworkModel network = sailor::google_cloud_network();
  network.measured = sailor::read_network_measurements(folder).value();
  return sailor::Simulator(sailor::read_profiles(folder).value(), std::move(network));
}

double peak_mebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Goals: the seconds for a plan with its quick proof, including reading the profiles, and the part of the proved bound
// on throughput that the plan reaches.
struct Goals {
  double seconds = 0;
  double bound_ratio = 0;  // the bound is that of the thorough proof
};

void plan(benchmark::State& state, const sailor::ClusterState& cluster, const Goals& goals) {
  const sailor::JobSpec job = opt_350m();
  double iteration = 0;
  for (auto _ : state) {
    const auto planned = sailor::Planner(a_simulator()).plan(job, cluster, {}, {});
    if (!planned) return state.SkipWithError(planned.error().message.c_str());
    iteration = planned->estimate.iteration.value();
  }
  state.counters["iteration_seconds"] = iteration;
  state.counters["peak_MiB"] = peak_mebibytes();
  state.counters["goal_peak_MiB"] = 300;
  state.counters["goal"] = goals.seconds;
  sailor::PlanOptions thorough;
  thorough.proof = sailor::Proof::kThorough;
  thorough.proof_budget = std::chrono::seconds(5);
  const auto proved = sailor::Planner(a_simulator()).plan(job, cluster, thorough, {});
  state.counters["bound_gap"] = 1 - proved->bound_ratio();
  state.counters["goal_bound_gap"] = 1 - goals.bound_ratio;
}

void BM_PlanOneType(benchmark::State& state) {
  plan(state, a_cluster().pool(kZone, "nvidia-tesla-a100", static_cast<int>(state.range(0)) / 4, 4), {0.3, 0.95});
}
BENCHMARK(BM_PlanOneType)->Arg(32)->Arg(512)->Arg(2048)->Unit(benchmark::kMillisecond);

void BM_Plan128A100And384V100(benchmark::State& state) {
  plan(state, a_cluster().pool(kZone, "nvidia-tesla-a100", 32, 4).pool(kZone, "nvidia-tesla-v100", 96, 4), {0.3, 0.9});
}
BENCHMARK(BM_Plan128A100And384V100)->Unit(benchmark::kMillisecond);

// The argument is the number of GPUs of each of three types.
void BM_PlanThreeTypes(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0)) / 4;
  plan(state,
       a_cluster()
           .pool(kZone, "nvidia-tesla-a100", nodes, 4)
           .pool(kZone, "nvidia-tesla-v100", nodes, 4)
           .pool(kZone, "nvidia-gh200", nodes, 4),
       {0.5, nodes <= 16 ? 0.87 : 0.84});
}
BENCHMARK(BM_PlanThreeTypes)->Arg(40)->Arg(84)->Arg(512)->Unit(benchmark::kMillisecond);

// Plans for 10,240 GPUs of three types in ten regions.
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
  plan(state, cluster, {2, 0.84});
}
BENCHMARK(BM_PlanTenRegions)->Unit(benchmark::kMillisecond);

// Plans near the running plan after one node of 128 A100 + 384 V100 is lost.
void BM_RepairOf512(benchmark::State& state) {
  const sailor::JobSpec job = opt_350m();
  const auto cluster = [](int a100_nodes) {
    return a_cluster().pool(kZone, "nvidia-tesla-a100", a100_nodes, 4).pool(kZone, "nvidia-tesla-v100", 96, 4).build();
  };
  sailor::PlanOptions options;
  options.current = sailor::Planner(a_simulator()).plan(job, cluster(32), {}, {}).value().plan;
  options.scope = sailor::SearchScope::kNearCurrent;
  double iteration = 0;
  for (auto _ : state) {
    iteration = sailor::Planner(a_simulator()).plan(job, cluster(31), options, {}).value().estimate.iteration.value();
  }
  state.counters["iteration_seconds"] = iteration;
  state.counters["goal"] = 0.1;
}
BENCHMARK(BM_RepairOf512)->Unit(benchmark::kMillisecond);

// Estimates eight stages of 32 replicas. Only the tables of the job are kept between calls.
void BM_FastEstimate(benchmark::State& state) {
  const sailor::Simulator simulator;
  const sailor::JobSpec job = opt_350m();
  const sailor::ClusterState cluster = a_cluster().pool(kZone, "nvidia-tesla-a100", 64, 4);
  const auto costs = simulator.prepare(job, cluster, std::vector<int>{1}).value();
  const auto even = sailor::testing::an_even_plan(job, cluster.pools[0].key, 8, 32, 1);
  const auto grouped = sailor::grouped(even, cluster).value();
  for (auto _ : state) benchmark::DoNotOptimize(costs->fast_estimate_below({}, grouped));
  state.counters["goal"] = 1e-5;
}
BENCHMARK(BM_FastEstimate);

// Every stage has two kinds of replicas, 16 of each. No closed form is accurate, so the first rounds are simulated.
void BM_FastEstimateOfUnevenReplicas(benchmark::State& state) {
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
  for (auto _ : state) benchmark::DoNotOptimize(costs->fast_estimate_below({}, grouped));
  state.counters["goal"] = 1e-5;
}
BENCHMARK(BM_FastEstimateOfUnevenReplicas);

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
