#include "operator/reconcile/observe/measurements.h"

#include <algorithm>

#include "core/model/speed_grade.h"
#include "operator/model/observation_queries.h"

namespace sailor {
namespace {

// The generation that trains: the newest one, or the one that trains on while the newest one is prepared.
const Generation& running_generation(const GenerationRecord& record) {
  return record.running ? *record.running : record;
}

PoolKey of_usual_speed(PoolKey pool) {
  pool.grade = 0;
  return pool;
}

struct RoleOfGpu {
  Work work;
  int grade = 0;  // that the plan assumes
  double planned_seconds = 0;
};

// Returns how long the plan expects a microbatch to take a GPU of usual speed; 0: the record has no times.
double planned_seconds(const Generation& generation, const ReplicaPlacement& placed, int grade) {
  if (!generation.schedule_times) return 0;
  const auto& times = generation.schedule_times->replicas.at(static_cast<std::size_t>(placed.stage))
                          .at(static_cast<std::size_t>(placed.replica));
  return std::chrono::duration<double>(times.forward + times.backward).count() / slowdown_of(grade);
}

// Returns what each GPU of the generation computes, by the name of the pod and the index of the GPU in it.
std::map<std::pair<std::string, int>, RoleOfGpu> roles(const Generation& generation) {
  std::map<std::pair<std::string, int>, RoleOfGpu> roles;
  for (const ReplicaPlacement& placed : generation.placement.replicas) {
    const Stage& stage = generation.stage_of(placed);
    const Replica& replica = generation.replica_of(placed);
    const Work work{of_usual_speed(replica.pool), stage.first_layer, stage.last_layer, replica.tensor_parallel,
                    generation.plan.microbatch_size};
    const double planned = planned_seconds(generation, placed, replica.pool.grade);
    for (const int gpu : generation.gpus_of(placed)) {
      roles[{generation.slot_of(placed).pod, gpu}] = {work, replica.pool.grade, planned};
    }
  }
  return roles;
}

using Roles = std::map<std::pair<std::string, int>, RoleOfGpu>;

std::optional<PassTime> pass_time(const PodView& pod, const std::string& node_uid, const WorkerReport& worker,
                                  std::int64_t generation, const Roles& roles) {
  const GpuName gpu{node_uid, worker.gpu};
  if (worker.phase == WorkerPhase::kReleased && worker.probe_seconds) {
    return PassTime{gpu, {.pool = of_usual_speed(pod.pool)}, worker.generation, worker.step, *worker.probe_seconds};
  }
  const auto role = roles.find({pod.name, worker.gpu});
  const bool trains = worker.phase == WorkerPhase::kTraining && worker.generation == generation;
  if (!trains || !worker.microbatch_seconds || role == roles.end()) return std::nullopt;
  return PassTime{.gpu = gpu,
                  .work = role->second.work,
                  .generation = worker.generation,
                  .step = worker.step,
                  .seconds = *worker.microbatch_seconds,
                  .planned_seconds = role->second.planned_seconds};
}

// Calls `use` with each pod that answers, the UID of its node and the report of its agent.
template <class Use>
void for_each_report(const Observation& observation, Use use) {
  for (const PodView& pod : observation.pods) {
    const AgentView* agent = find_agent(observation, pod);
    const std::string node_uid = node_uid_of_pod(observation, pod.name);
    if (pod.is_ours && agent != nullptr && agent->answers() && !node_uid.empty())
      use(pod, node_uid, agent->report.value());
  }
}

bool is_as_planned(const Observation& observation, const Generation& generation,
                   const std::map<GpuName, GpuSpeed>& speeds) {
  const Roles planned = roles(generation);
  bool is_as_planned = true;
  for_each_report(observation, [&](const PodView& pod, const std::string& node_uid, const AgentReport& report) {
    for (const WorkerReport& worker : report.workers) {
      const auto role = planned.find({pod.name, worker.gpu});
      if (role == planned.end()) continue;
      const auto speed = speeds.find({node_uid, worker.gpu});
      is_as_planned = is_as_planned && speed != speeds.end() && speed->second.is_settled &&
                      grade_of(speed->second.slowdown) == role->second.grade;
    }
  });
  return is_as_planned;
}

JobSpeeds::KnownSlowGpus known_slow_gpus(const GenerationRecord& record) {
  JobSpeeds::KnownSlowGpus known;
  for (const SlowGpu& slow : record.slow_gpus) {
    if (slow.is_slow()) known[{slow.node_uid, slow.gpu}] = {slow.slowdown, slow.usual_probe_seconds};
  }
  return known;
}

}  // namespace

std::vector<PassTime> pass_times(const Observation& observation) {
  std::vector<PassTime> times;
  const Generation& generation = running_generation(observation.record.value());
  const Roles planned = roles(generation);
  for_each_report(observation, [&](const PodView& pod, const std::string& node_uid, const AgentReport& report) {
    for (const WorkerReport& worker : report.workers) {
      if (const auto time = pass_time(pod, node_uid, worker, generation.generation, planned)) times.push_back(*time);
    }
  });
  return times;
}

void StepLengths::note(const JobProgress& progress, double estimated_seconds, bool is_as_planned) {
  constexpr std::size_t kKept = 15;
  if (progress.step == step_ || progress.step_seconds <= 0 || estimated_seconds <= 0) return;
  step_ = progress.step;
  measured_ = progress.step_seconds;
  if (!is_as_planned) return;
  ratios_.push_back(measured_ / estimated_seconds);
  if (ratios_.size() > kKept) ratios_.pop_front();
}

std::optional<double> StepLengths::present() const {
  constexpr std::size_t kLeast = 3;
  if (ratios_.size() < kLeast) return std::nullopt;
  std::vector<double> sorted(ratios_.begin(), ratios_.end());
  std::ranges::sort(sorted);
  return measured_ / sorted[sorted.size() / 2];
}

void Measurements::fill_in(Observation& observation) {
  if (!observation.record) return;
  const GenerationRecord& record = *observation.record;
  const std::lock_guard lock(mutex_);
  Job& job = jobs_[observation.job.key];
  const std::vector<PassTime> times = pass_times(observation);
  if (times.empty()) return;
  job.speeds.note(times, known_slow_gpus(record), observation.now);
  observation.gpu_speeds = job.speeds.speeds();
  const Generation& generation = running_generation(record);
  const auto progress = newest_progress(observation);
  if (progress && progress->generation == generation.generation) {
    job.steps.note(*progress, generation.summary.iteration_seconds,
                   is_as_planned(observation, generation, observation.gpu_speeds));
    observation.present_step_seconds = job.steps.present();
  }
}

void Measurements::forget(const JobKey& job) {
  const std::lock_guard lock(mutex_);
  jobs_.erase(job);
}

}  // namespace sailor
