// MeasuredSystem: the overheads of DeepSpeed on one system of machines, beside layer times and bandwidths. All runs on
// the same hardware share these few parameters; none depends on a model, a plan or a batch.
#pragma once

#include <span>

#include "core/model/model_spec.h"
#include "core/model/profile.h"
#include "simulator/layer_needs.h"

namespace sailor {

struct MeasuredSystem {
  std::string_view name;
  std::string_view accelerators;  // the accelerators of the system, separated by commas
  Seconds message_latency;        // per transfer between stages: matching send and receive, handshakes, the fabric
  Seconds pass_overhead;          // the time of the host for each forward and each backward pass of a pipeline
  double launch_exposed = 1;      // the part of a layer's launch overhead that a running job does not hide
  Bytes send_buffer;              // a larger message keeps its sender waiting until all but this amount has left
  double ring_efficiency = 1;     // bandwidth of an all-reduce over that of one message
  Bytes context;                  // memory that driver, libraries and allocator take before the first tensor
};

// The systems of the public measurements.
std::span<const MeasuredSystem> measured_systems();
const MeasuredSystem* find_system(const Accelerator& accelerator);

// Returns the layer times in a running job. A job queues kernels ahead, so it hides a part of the launch overhead: the
// time by which a measured time exceeds the best rate of larger microbatches. The job's optimizer is fused and moves 28
// bytes per parameter; profiles apply the optimizer operator by operator (200 bytes).
ModelProfile in_a_running_job(ModelProfile profile, double launch_exposed);

// Returns the peak memory of a GPU under DeepSpeed with FP32: 24 bytes per parameter, the activations of all
// microbatches in flight, the four score matrices of attention's softmax, and the system's context.
Bytes deepspeed_memory(const RangeNeeds& needs, const JobSpec& job, ProfilePoint point, int in_flight,
                       const MeasuredSystem& system);

}  // namespace sailor
