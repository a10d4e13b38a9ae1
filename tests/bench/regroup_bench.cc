// Measures how long the workers of a job take to regroup: agents and workers as processes, with a model so small that
// only the connections count. Eight pods with an eighth of the workers each, in two stages.
#include <algorithm>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "tests/trainer/support/agent_process.h"
#include "tests/trainer/support/assignments.h"

namespace {

using namespace sailor;
using namespace sailor::trainer::testing;

constexpr int kPods = 8;

class RunningJob {
 public:
  explicit RunningJob(int workers) : workers_(workers) {
    for (int pod = 0; pod < kPods; ++pod) {
      pods_.push_back(std::make_unique<AgentProcess>(scratch_.folder(), std::vector<std::string>{}, workers / kPods));
    }
    for (const auto& pod : pods_) pod->wait_until_ready();
    job_.training.steps = 1'000'000;
    job_.training.global_batch_size = job_.training.microbatch_sizes.front() * workers;
    train();
  }

  // Begins the next generation, and returns its times when its first steps are done.
  RegroupTimes train() {
    const int microbatches = workers_;
    const int last_stage = gpus() - workers_ / 2;
    const Plan plan =
        plan_of(job_, {{0, 3, shares(microbatches, workers_ / 2)}, {3, 5, shares(microbatches, last_stage)}});
    std::vector<AgentAddress> addresses;
    for (const auto& pod : pods_) addresses.push_back(pod->address());
    const Assignment next = generation(job_, ++generation_, plan, addresses);
    for (const auto& pod : pods_) (void)pod->put(next);
    return pods_.front()
        ->wait_until([this](const AgentReport& report) {
          const auto& progress = report.progress;
          return progress && progress->generation == generation_ && progress->step >= progress->resumed_step + 2;
        })
        .progress->times;
  }

  // Kills the last pod, and returns when the first of the others has noticed.
  void lose_a_pod() {
    pods_.pop_back();
    while (std::ranges::none_of(pods_, [](const auto& pod) { return is_broken(pod->report()); })) {
    }
  }

 private:
  [[nodiscard]] int gpus() const { return workers_ / kPods * static_cast<int>(pods_.size()); }

  static bool is_broken(const AgentReport& report) {
    return std::ranges::any_of(report.workers,
                               [](const WorkerReport& worker) { return worker.phase == WorkerPhase::kBroken; });
  }

  static std::vector<int> shares(int microbatches, int replicas) {
    std::vector<int> shares(static_cast<std::size_t>(replicas), microbatches / replicas);
    for (int i = 0; i < microbatches % replicas; ++i) ++shares[static_cast<std::size_t>(i)];
    return shares;
  }

  const int workers_;
  Scratch scratch_;
  Assignment job_ = tiny_job(scratch_.text());
  std::vector<std::unique_ptr<AgentProcess>> pods_;
  std::int64_t generation_ = 0;
};

void set_goal(benchmark::State& state) {
  if (state.range(0) == 64) state.counters["goal"] = 1;
}

void BM_RegroupForAPlannedChange(benchmark::State& state) {
  RunningJob job(static_cast<int>(state.range(0)));
  for (auto _ : state) state.SetIterationTime(job.train().regroup_seconds);
  set_goal(state);
}
BENCHMARK(BM_RegroupForAPlannedChange)->RangeMultiplier(2)->Range(8, 64)->Iterations(5)->UseManualTime();

// From the last step, so the time includes the detection.
void BM_RegroupAfterTheLossOfAPod(benchmark::State& state) {
  for (auto _ : state) {
    RunningJob job(static_cast<int>(state.range(0)));
    job.lose_a_pod();
    state.SetIterationTime(job.train().regroup_seconds);
  }
  set_goal(state);
}
BENCHMARK(BM_RegroupAfterTheLossOfAPod)->RangeMultiplier(2)->Range(8, 64)->Iterations(1)->UseManualTime();

}  // namespace
