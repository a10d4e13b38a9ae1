#include "simulator/measured_system.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace sailor {
namespace {

// Compared with 13 runs on GH200 and 4 on RTX GPUs. Plausible ranges, and the reasons for these values:
// - message_latency 0.1 to 20 ms: both ends synchronise through Python, and a message of an RTX machine takes many TCP
//   segments of 1 GbE; GH200 nodes have Slingshot.
// - pass_overhead 0.1 to 2 ms: the engine's instructions for a pass, in Python.
// - launch_exposed 0 to 1: with microbatches of 1 and 2, a real step took 0.86 of the sum of the profile's layers.
// - send_buffer 4 MiB (NCCL's default per channel) to unlimited (the host's memory buffers TCP sends).
// - ring_efficiency 0.3 to 1: DeepSpeed reduces the gradients of a step in buckets, each in its own ring.
// - context 2 to 6 GB: CUDA, NCCL's communicators, and what PyTorch's allocator reserves but does not use.
constexpr std::array<MeasuredSystem, 2> kSystems = {
    {{.name = "GH200",
      .accelerators = "nvidia-gh200",
      .message_latency = Seconds(1.5e-3),
      .pass_overhead = Seconds(0.3e-3),
      .launch_exposed = 0.8,
      .send_buffer = Bytes(4.0 * 1024 * 1024),
      .ring_efficiency = 0.4,
      .context = Bytes(4.4e9)},
     {.name = "RTX",
      .accelerators = "nvidia-titan-rtx,nvidia-rtx-2080,nvidia-rtx-3090",
      .message_latency = Seconds(15e-3),
      .pass_overhead = Seconds(0.3e-3),
      .launch_exposed = 0.8,
      .send_buffer = Bytes(std::numeric_limits<double>::infinity()),
      .ring_efficiency = 1,
      .context = Bytes(3.0e9)}}};

Seconds queued(Seconds alone, Seconds at_best_rate, double exposed) {
  return at_best_rate + (alone - at_best_rate) * exposed;
}

}  // namespace

std::span<const MeasuredSystem> measured_systems() { return kSystems; }

const MeasuredSystem* find_system(const Accelerator& accelerator) {
  const auto has = [&](const MeasuredSystem& system) {
    return ("," + std::string(system.accelerators) + ",").find("," + accelerator.str() + ",") != std::string::npos;
  };
  const auto found = std::ranges::find_if(kSystems, has);
  return found == kSystems.end() ? nullptr : &*found;
}

ModelProfile in_a_running_job(ModelProfile profile, double launch_exposed) {
  constexpr double kFusedUpdate = 28.0 / 200;
  const auto measured = profile.times;
  for (auto& [point, layers] : profile.times) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      LayerTime best = layers[i];
      for (const auto& [other, times] : measured) {
        if (other.tensor_parallel != point.tensor_parallel || other.microbatch_size < point.microbatch_size) continue;
        const double scale = static_cast<double>(point.microbatch_size) / other.microbatch_size;
        best.forward = std::min(best.forward, times[i].forward * scale);
        best.backward = std::min(best.backward, times[i].backward * scale);
      }
      layers[i].forward = queued(layers[i].forward, best.forward, launch_exposed);
      layers[i].update = layers[i].update * kFusedUpdate;
      layers[i].backward = queued(layers[i].backward, best.backward, launch_exposed);
    }
  }
  return profile;
}

Bytes deepspeed_memory(const RangeNeeds& needs, const JobSpec& job, ProfilePoint point, int in_flight,
                       const MeasuredSystem& system) {
  constexpr double kParameterBytes = 24;
  constexpr double kScoreMatrices = 4;
  constexpr double kFloat = 4;
  const double length = job.training.sequence_length;
  const double scores = kScoreMatrices * job.model.heads / point.tensor_parallel * length * length;
  return Bytes(needs.parameters * kParameterBytes) + needs.activations * in_flight +
         Bytes(kFloat * scores * point.microbatch_size) + system.context;
}

}  // namespace sailor
