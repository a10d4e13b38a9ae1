#include "simulator/measured_run.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/schedule/make_schedule.h"
#include "core/schedule/one_forward_one_backward.h"
#include "simulator/step_timing.h"

namespace sailor {
namespace {

// The times and sizes of one run under DeepSpeed.
class RunSimulation {
 public:
  RunSimulation(const MeasuredRun& run, const NetworkMeasurements& network, const MeasuredSystem& system)
      : run_(run), network_(network), system_(system) {}

  Result<void> add_costs(const ProfileBook& profiles) {
    for (const Stage& stage : run_.plan.stages) {
      auto& needs = needs_.emplace_back();
      for (const Replica& replica : stage.replicas) {
        const AcceleratorSpec* spec = find_accelerator(replica.pool.accelerator);
        if (spec == nullptr) {
          return fail(ErrorCode::kNotFound,
                      fmt::format("accelerator {} is not in the catalogue; add it to core/model/accelerators.json",
                                  replica.pool.accelerator.str()));
        }
        const ModelProfile* profile = profiles.find(run_.job, replica.pool.accelerator);
        if (profile == nullptr) {
          return fail(ErrorCode::kNotFound, fmt::format("no profile of {} on {}; measure one or add it to the folder",
                                                        run_.job.model.name, replica.pool.accelerator.str()));
        }
        const ModelProfile running = in_a_running_job(*profile, system_.launch_exposed);
        const LayerNeeds layers(run_.job, *spec, &running, point_of(replica),
                                LayerNeeds::Choices{.recompute = run_.plan.activation_checkpointing});
        needs.push_back(layers.range({stage.first_layer, stage.last_layer}));
        outputs_.push_back(layers.output(0));
      }
    }
    return {};
  }

  [[nodiscard]] Result<RunEstimate> estimate() const {
    const auto times = step_times();
    if (!times) return tl::unexpected(times.error());
    const auto execution = execution_of();
    if (!execution) return tl::unexpected(execution.error());
    auto schedule = deepspeed_schedule(run_.plan);
    if (!schedule) schedule = make_schedule(run_.plan, *times, SchedulePolicy::kOneForwardOneBackward);
    const StepTiming timing = time_step(*schedule, *times, *execution);
    return RunEstimate{Seconds(static_cast<double>(timing.end().count()) * 1e-9), memory(*schedule)};
  }

 private:
  [[nodiscard]] ProfilePoint point_of(const Replica& replica) const {
    return {run_.plan.microbatch_size, replica.tensor_parallel};
  }

  // Every pool is a link class, in the order in which the plan names them.
  [[nodiscard]] std::vector<PoolKey> link_classes() const {
    std::vector<PoolKey> pools;
    for (const Stage& stage : run_.plan.stages) {
      for (const Replica& replica : stage.replicas) {
        if (std::ranges::find(pools, replica.pool) == pools.end()) pools.push_back(replica.pool);
      }
    }
    return pools;
  }

  [[nodiscard]] Result<BytesPerSecond> rate(const PoolKey& a, const PoolKey& b, int gpus, Bytes message) const {
    const MeasuredEndpoint from{a.zone, a.accelerator, gpus};
    const MeasuredEndpoint to{b.zone, b.accelerator, gpus};
    const BandwidthCurve* curve = network_.between(from, to);
    if (curve == nullptr) {
      return fail(ErrorCode::kNotFound, fmt::format("no bandwidth between {} and {} was measured; add it to the folder",
                                                    a.accelerator.str(), b.accelerator.str()));
    }
    return curve->at(message);
  }

  // A message between stages goes from one GPU to one GPU.
  [[nodiscard]] Result<ScheduleTimes> step_times() const {
    const std::vector<PoolKey> pools = link_classes();
    const Bytes message = outputs_.front();
    const bool is_pipeline = run_.plan.stages.size() > 1;
    const Seconds overhead = is_pipeline ? system_.pass_overhead : Seconds(0);
    ScheduleTimes times;
    times.link_classes = static_cast<int>(pools.size());
    for (std::size_t stage = 0; stage < needs_.size(); ++stage) {
      auto& replicas = times.replicas.emplace_back();
      for (std::size_t r = 0; r < needs_[stage].size(); ++r) {
        const RangeNeeds& needs = needs_[stage][r];
        const auto link_class = std::ranges::find(pools, run_.plan.stages[stage].replicas[r].pool) - pools.begin();
        replicas.push_back({to_nanoseconds(needs.forward + overhead), to_nanoseconds(needs.backward + overhead),
                            static_cast<int>(link_class), std::numeric_limits<int>::max()});
      }
    }
    std::vector<LinkTimes> links;
    for (const PoolKey& a : pools) {
      for (const PoolKey& b : pools) {
        if (!is_pipeline) continue;
        const auto speed = rate(a, b, 1, message);
        if (!speed) return tl::unexpected(speed.error());
        links.push_back({to_nanoseconds(system_.message_latency), to_nanoseconds(message / *speed)});
      }
    }
    times.links.assign(needs_.size(), links);
    return times;
  }

  [[nodiscard]] Result<Execution> execution_of() const {
    Execution execution{.receives_block = true, .held = {}, .all_reduce = {}, .update = {}};
    const double held = std::max(0.0, 1 - system_.send_buffer / outputs_.front());
    execution.held.assign(needs_.size(), held);
    for (std::size_t stage = 0; stage < needs_.size(); ++stage) {
      const auto ring = all_reduce(stage);
      if (!ring) return tl::unexpected(ring.error());
      execution.all_reduce.push_back(to_nanoseconds(*ring));
      Seconds update(0);
      for (const RangeNeeds& needs : needs_[stage]) update = std::max(update, needs.update);
      execution.update.push_back(to_nanoseconds(update));
    }
    return execution;
  }

  // The groups of a stage reduce their shards at the same time, over all NICs of their nodes.
  [[nodiscard]] Result<Seconds> all_reduce(std::size_t stage) const {
    const auto& replicas = run_.plan.stages[stage].replicas;
    const auto members = static_cast<double>(replicas.size());
    if (members < 2) return Seconds(0);
    Seconds slowest(0);
    for (std::size_t a = 0; a < replicas.size(); ++a) {
      for (std::size_t b = 0; b < replicas.size(); ++b) {
        if (a == b) continue;
        const Bytes whole(needs_[stage][a].parameters * 4 * replicas[a].tensor_parallel);
        const auto speed = rate(replicas[a].pool, replicas[b].pool, replicas[a].tensor_parallel, whole / members);
        if (!speed) return tl::unexpected(speed.error());
        slowest = std::max(slowest, whole * (2 * (members - 1) / members) / (*speed * system_.ring_efficiency));
      }
    }
    return slowest;
  }

  [[nodiscard]] Bytes memory(const Schedule& schedule) const {
    Bytes most(0);
    for (std::size_t stage = 0; stage < needs_.size(); ++stage) {
      for (std::size_t r = 0; r < needs_[stage].size(); ++r) {
        most =
            std::max(most, deepspeed_memory(needs_[stage][r], run_.job, point_of(run_.plan.stages[stage].replicas[r]),
                                            schedule.replicas[stage][r].max_in_flight, system_));
      }
    }
    return most;
  }

  const MeasuredRun& run_;
  const NetworkMeasurements& network_;
  const MeasuredSystem& system_;
  std::vector<std::vector<RangeNeeds>> needs_;  // [stage][replica]
  std::vector<Bytes> outputs_;                  // activations of a microbatch; the same between all stages
};

}  // namespace

Result<MeasuredSystem> system_of(const MeasuredRun& run) {
  const Accelerator& accelerator = run.plan.stages.front().replicas.front().pool.accelerator;
  if (const MeasuredSystem* system = find_system(accelerator)) return *system;
  return fail(ErrorCode::kNotFound,
              fmt::format("nothing is known of the system that ran on {}; describe it in simulator/measured_system.cc",
                          accelerator.str()));
}

Result<RunEstimate> estimate_run(const MeasuredRun& run, const ProfileBook& profiles,
                                 const NetworkMeasurements& network, const MeasuredSystem& system) {
  RunSimulation simulation(run, network, system);
  if (auto added = simulation.add_costs(profiles); !added) return tl::unexpected(added.error());
  return simulation.estimate();
}

}  // namespace sailor
