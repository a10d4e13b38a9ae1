// ExecutionModel: how a system executes a plan, beside what profiles and the network say. The planner and the simulator
// compute the time of a step with one of these values. A value is a set of assumptions; `source` says what it rests on.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/schedule_policy.h"
#include "core/model/units.h"

namespace sailor {

enum class SumAlgorithm {
  kRing,     // one ring of all replicas of a stage, each of whose messages goes at the rate of one GPU
  kFastest,  // the ring or, if that is faster, a sum within each node before the sum between nodes
};

// Of which tokens logits exist at the same time.
enum class LogitsInMemory {
  kChunk,       // a chunk of a microbatch (loss_chunk.h); their gradients are computed with them, as the trainer does
  kMicrobatch,  // a whole microbatch; their softmax is kept for the backward pass
};

// What a worker's memory holds beside the tensors of the trainer.
struct MemoryOverheads {
  // The part of a GPU's memory that plans leave free, because an allocator cannot use all of it: memory between tensors
  // is lost to fragmentation.
  double margin = 0.04;
  // What driver, libraries and allocator take before the first tensor. Absent: the Sailor paper's 2 GiB, or 3 GiB in a
  // tensor-parallel group.
  std::optional<Bytes> context;
  double bytes_per_parameter = 0;
  // The matrices of heads x length^2 FP32 values that the attention of one layer holds for every sample. Fused kernels
  // hold none.
  double score_matrices = 0;
  LogitsInMemory logits = LogitsInMemory::kChunk;
  friend bool operator==(const MemoryOverheads&, const MemoryOverheads&) = default;
};

struct ExecutionModel {
  std::string name;
  std::string source;        // what the figures rest on, with dates
  bool is_measured = false;  // on the user's cluster

  SchedulePolicy schedule = SchedulePolicy::kFlow;
  Seconds pass_overhead;  // the time of the host for every pass of a plan with several stages
  // The part of the launch overhead in measured times that a running job does not hide. That overhead is the time by
  // which a layer takes longer than at the best rate of larger microbatches. A job hides it by queueing kernels ahead.
  double launch_exposed = 1;

  // Whether messages between stages travel while their ends compute. Otherwise a pass ends only when the message that
  // follows it is sent.
  bool messages_beside_passes = true;
  // Whether all GPUs of two tensor-parallel groups exchange their parts of a message at the same time. Otherwise the
  // whole message goes at the rate of one GPU.
  bool messages_by_group = true;
  Seconds message_latency;   // of a message between stages, beside the latency of its link
  double message_share = 1;  // the part of a link's rate that messages between stages reach
  // Whether a receive waits for its message at its place in the list of operations. Otherwise workers post receives
  // ahead.
  bool receives_in_order = false;
  // A larger message keeps its sender waiting until all but this amount has left.
  Bytes send_buffer = Bytes(std::numeric_limits<double>::infinity());

  // Whether the sum of a layer's gradients starts when the last backward pass has left the layer. Otherwise it starts
  // when the pass is over.
  bool sums_beside_passes = true;
  SumAlgorithm sum_algorithm = SumAlgorithm::kFastest;
  double sum_share = 1;  // the part of a link's rate that sums of gradients reach

  double update_share = 1;  // the time of an update divided by that in the profile
  MemoryOverheads memory;

  // Whether the Sailor paper's formula gives the time of a plan that it can express (paper_formula.h).
  bool uses_paper_formula = false;

  friend bool operator==(const ExecutionModel&, const ExecutionModel&) = default;
};

// The models that are built in:
// * default: what is used until the user's cluster has been measured. The most conservative figures that measurements
//   support: a plan that is good under them does not rely on overlap or rates that were never measured.
// * trainer: what this project's trainer does by design: messages travel beside passes, sums follow the last backward
//   pass layer by layer, and both reach the rates of the network. None of it was measured on GPUs.
// * sailor-paper: the assumptions of the Sailor paper (SOSP'25, section 4.2) and of its public simulator.
// * deepspeed, deepspeed-ethernet: DeepSpeed's pipelines on the two clusters of the public measurements, one with
//   Slingshot and one with Ethernet. `sailor evaluate` compares them with the 13 and 4 runs measured there.
const std::vector<ExecutionModel>& built_in_execution_models();
const ExecutionModel& default_execution_model();
const ExecutionModel& trainer_execution_model();
// Returns null if no built-in model has this name.
const ExecutionModel* find_execution_model(std::string_view name);
// The names of the built-in models, separated by commas.
std::string execution_model_names();

// How much of its throughput a plan loses if sums of gradients, or messages between stages, take half as long again.
// Zero is nothing, one is all.
struct Sensitivity {
  double slower_sums = 0;
  double slower_messages = 0;
};

// What the estimate of a plan rests on.
struct EstimateBasis {
  ExecutionModel execution;
  Sensitivity sensitivity;
};

}  // namespace sailor
