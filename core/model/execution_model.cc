#include "core/model/execution_model.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "core/model/check.h"

namespace sailor {
namespace {

// The runs are those that `sailor evaluate` compares with (simulator/README.md). On GH200 nodes a sum reached 0.4 of
// the rate of one message, on RTX machines all of it; a message took 1.5 ms beside its transfer on GH200 nodes. In
// neither did a sum run beside passes, and GH200 nodes held the sender of a message back until it was sent.
ExecutionModel conservative() {
  ExecutionModel model{.name = "default",
                       .source =
                           "not measured on this cluster; the most conservative figures of 17 published runs on "
                           "GH200 and RTX GPUs: messages and sums of gradients wait for passes, and a sum is one "
                           "ring at 0.4 of the network's rate"};
  model.messages_beside_passes = false;
  model.message_latency = Seconds(1.5e-3);
  model.sums_beside_passes = false;
  model.sum_algorithm = SumAlgorithm::kRing;
  model.sum_share = 0.4;
  return model;
}

ExecutionModel trainer() {
  return {.name = "trainer",
          .source =
              "the design of the trainer, not measured on GPUs: messages and sums of gradients run beside passes "
              "at the full rates of the network"};
}

ExecutionModel sailor_paper() {
  ExecutionModel model{.name = "sailor-paper",
                       .source =
                           "the formula of the Sailor paper (SOSP'25, section 4.2) as its public simulator "
                           "computes it; for plans that it cannot express, its assumptions, simulated operation "
                           "by operation"};
  model.messages_beside_passes = false;
  model.sums_beside_passes = false;
  model.sum_algorithm = SumAlgorithm::kRing;
  model.uses_paper_formula = true;
  return model;
}

// The figures of both clusters lie in plausible ranges, and were fitted to their runs within these:
// - message_latency 0.1 to 20 ms: both ends synchronise through Python, and a message of an RTX machine takes many TCP
//   segments of 1 GbE; GH200 nodes have Slingshot.
// - pass_overhead 0.1 to 2 ms: the engine's instructions for a pass, in Python.
// - launch_exposed 0 to 1: with microbatches of 1 and 2, a real step took 0.86 of the sum of the profile's layers.
// - send_buffer 4 MiB (NCCL's default per channel) to unlimited (the host's memory buffers TCP sends).
// - sum_share 0.3 to 1: DeepSpeed reduces the gradients of a step in buckets, each in its own ring.
// - context 2 to 6 GB: CUDA, NCCL's communicators, and what PyTorch's allocator reserves but does not use.
ExecutionModel deepspeed() {
  ExecutionModel model;
  model.schedule = SchedulePolicy::kOneForwardOneBackward;
  model.pass_overhead = Seconds(0.3e-3);
  model.launch_exposed = 0.8;
  model.messages_by_group = false;
  model.receives_in_order = true;
  model.sums_beside_passes = false;
  model.sum_algorithm = SumAlgorithm::kRing;
  model.update_share = 28.0 / 200;  // bytes that a fused AdamW moves, over those of one that goes operator by operator
  model.memory.bytes_per_parameter = 4;  // further copies
  model.memory.score_matrices = 4;       // the softmax and its gradient, FP32
  model.memory.logits = LogitsInMemory::kMicrobatch;
  return model;
}

ExecutionModel deepspeed_slingshot() {
  ExecutionModel model = deepspeed();
  model.name = "deepspeed";
  model.source = "13 published runs of DeepSpeed on GH200 nodes, four GPUs each, with Slingshot";
  model.message_latency = Seconds(1.5e-3);
  model.send_buffer = Bytes(4.0 * 1024 * 1024);
  model.sum_share = 0.4;
  model.memory.context = Bytes(4.1e9);
  return model;
}

ExecutionModel deepspeed_ethernet() {
  ExecutionModel model = deepspeed();
  model.name = "deepspeed-ethernet";
  model.source = "4 published runs of DeepSpeed on machines with Titan RTX, RTX 2080 and RTX 3090 GPUs, with Ethernet";
  model.message_latency = Seconds(15e-3);
  model.memory.context = Bytes(2.9e9);
  return model;
}

const ExecutionModel& found(std::string_view name) {
  const ExecutionModel* model = find_execution_model(name);
  SAILOR_CHECK(model != nullptr, "no execution model {}", name);
  return *model;
}

}  // namespace

const std::vector<ExecutionModel>& built_in_execution_models() {
  static const std::vector<ExecutionModel> models{conservative(), trainer(), sailor_paper(), deepspeed_slingshot(),
                                                  deepspeed_ethernet()};
  return models;
}

const ExecutionModel* find_execution_model(std::string_view name) {
  const auto& models = built_in_execution_models();
  const auto found = std::ranges::find(models, name, &ExecutionModel::name);
  return found == models.end() ? nullptr : &*found;
}

std::string execution_model_names() {
  std::vector<std::string_view> names;
  for (const ExecutionModel& model : built_in_execution_models()) names.push_back(model.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

const ExecutionModel& default_execution_model() { return found("default"); }
const ExecutionModel& trainer_execution_model() { return found("trainer"); }

}  // namespace sailor
