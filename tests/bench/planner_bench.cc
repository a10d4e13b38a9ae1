// Measures how long the planner takes, from one node to thousands of mixed GPUs, and how fast the simulator answers it,
// in closed form and operation by operation.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

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
sailor::Simulator a_simulator(const sailor::ExecutionModel& execution = sailor::trainer_execution_model()) {
  const std::filesystem::path folder = std::filesystem::path(SAILOR_SOURCE_DIR) / "../shared/data/sailor-artifact";
  sailor::NetworkModel network = sailor::google_cloud_network();
  if (!std::filesystem::exists(folder)) return sailor::Simulator({}, std::move(network), execution);
  network.measured = sailor::read_network_measurements(folder).value();
  return sailor::Simulator(sailor::read_profiles(folder).value(), std::move(network), execution);
}

double peak_mebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Upper limits. All but the first hold for the model `trainer` only.
struct Goals {
  double seconds = 0;  // for a plan with its quick proof, including reading the profiles
  std::optional<double> iteration_seconds = {};
  std::optional<double> bound_gap =
      {};  // one minus the part of the bound that the plan reaches, after a thorough proof
};

struct PlanCase {
  std::string name;
  sailor::ClusterState cluster;
  Goals goals;
};

void plan(benchmark::State& state, const PlanCase& one, const sailor::ExecutionModel& execution) {
  const sailor::JobSpec job = opt_350m();
  double iteration = 0;
  for (auto _ : state) {
    const auto planned = sailor::Planner(a_simulator(execution)).plan(job, one.cluster, {}, {});
    if (!planned) return state.SkipWithError(planned.error().message.c_str());
    iteration = planned->estimate.iteration.value();
  }
  state.counters["iteration_seconds"] = iteration;
  state.counters["peak_MiB"] = peak_mebibytes();
  state.counters["goal_peak_MiB"] = 100;
  state.counters["goal"] = one.goals.seconds;
  sailor::PlanOptions thorough;
  thorough.proof = sailor::Proof::kThorough;
  thorough.proof_budget = std::chrono::seconds(5);
  const auto proved = sailor::Planner(a_simulator(execution)).plan(job, one.cluster, thorough, {});
  state.counters["bound_gap"] = 1 - proved->bound_ratio();
  if (execution != sailor::trainer_execution_model()) return;
  if (one.goals.iteration_seconds) state.counters["goal_iteration_seconds"] = *one.goals.iteration_seconds;
  if (one.goals.bound_gap) state.counters["goal_bound_gap"] = *one.goals.bound_gap;
}

sailor::ClusterState one_type(int gpus) { return a_cluster().pool(kZone, "nvidia-tesla-a100", gpus / 4, 4); }

sailor::ClusterState two_types(int a100, int v100) {
  return a_cluster().pool(kZone, "nvidia-tesla-a100", a100 / 4, 4).pool(kZone, "nvidia-tesla-v100", v100 / 4, 4);
}

sailor::ClusterState three_types(int of_each) {
  return a_cluster()
      .pool(kZone, "nvidia-tesla-a100", of_each / 4, 4)
      .pool(kZone, "nvidia-tesla-v100", of_each / 4, 4)
      .pool(kZone, "nvidia-gh200", of_each / 4, 4);
}

// 10,240 GPUs of three types.
sailor::ClusterState ten_regions() {
  sailor::testing::ClusterBuilder cluster;
  for (const char* region : {"us-central1", "us-west1", "us-west2", "us-east1", "us-east4", "europe-west1",
                             "europe-west4", "europe-north1", "asia-east1", "asia-south1"}) {
    const std::string zone = std::string(region) + "-a";
    const int a100_nodes = zone == kZone ? 96 : 86;
    cluster.pool(zone, "nvidia-tesla-a100", a100_nodes, 4)
        .pool(zone, "nvidia-tesla-v100", 85, 4)
        .pool(zone, "nvidia-gh200", 84, 4);
  }
  return cluster;
}

const std::vector<PlanCase>& plan_cases() {
  static const std::vector<PlanCase> cases = {
      {"32 A100", one_type(32), {.seconds = 0.3}},
      {"128 A100", one_type(128), {.seconds = 0.3, .bound_gap = 0.06}},
      {"512 A100", one_type(512), {.seconds = 0.3, .iteration_seconds = 0.722, .bound_gap = 0.12}},
      {"2,048 A100", one_type(2048), {.seconds = 0.5}},
      {"8 A100 and 24 V100", two_types(8, 24), {.seconds = 0.25, .bound_gap = 0.08}},
      {"128 A100 and 384 V100", two_types(128, 384), {.seconds = 0.25, .iteration_seconds = 1.29, .bound_gap = 0.2}},
      {"40 each of three types", three_types(40), {.seconds = 0.25, .bound_gap = 0.2}},
      {"84 each of three types", three_types(84), {.seconds = 0.25}},
      {"512 each of three types", three_types(512), {.seconds = 0.25}},
      {"10,240 of three types in ten regions", ten_regions(), {.seconds = 0.7}},
  };
  return cases;
}

// The model that the goals are for, and the one that is used where nothing was measured.
const bool kPlansAreRegistered = [] {
  for (const char* model : {"trainer", "default"}) {
    const sailor::ExecutionModel& execution = *sailor::find_execution_model(model);
    for (const PlanCase& one : plan_cases()) {
      benchmark::RegisterBenchmark((std::string("plan ") + model + ": " + one.name).c_str(),
                                   [&one, &execution](benchmark::State& state) { plan(state, one, execution); })
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

// Plans near the running plan after one node of 128 A100 + 384 V100 is lost.
void BM_RepairOf512(benchmark::State& state) {
  const sailor::JobSpec job = opt_350m();
  const sailor::ClusterState cluster = two_types(124, 384);
  sailor::PlanOptions options;
  options.current = sailor::Planner(a_simulator()).plan(job, two_types(128, 384), {}, {}).value().plan;
  options.scope = sailor::SearchScope::kNearCurrent;
  double iteration = 0;
  for (auto _ : state) {
    iteration = sailor::Planner(a_simulator()).plan(job, cluster, options, {}).value().estimate.iteration.value();
  }
  state.counters["iteration_seconds"] = iteration;
  state.counters["goal"] = 0.03;
}
BENCHMARK(BM_RepairOf512)->Name("plan after one of 128 nodes is lost")->Unit(benchmark::kMillisecond);

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
BENCHMARK(BM_FastEstimate)->Name("fast estimate of 8 stages of 32 replicas");

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
BENCHMARK(BM_FastEstimateOfUnevenReplicas)->Name("fast estimate of 8 stages of 16 fast and 16 slow replicas");

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
BENCHMARK(BM_EventTiming)
    ->Name("schedule and timing of 64 stages and 1,024 microbatches, replicas")
    ->Arg(1)
    ->Arg(32)
    ->Unit(benchmark::kMillisecond);

}  // namespace
