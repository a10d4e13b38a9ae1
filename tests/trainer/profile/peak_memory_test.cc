// The memory model against what a worker's tensors take, for every kind of model and plan that changes it.
#include <algorithm>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "simulator/analytic_profile.h"
#include "simulator/layer_needs.h"
#include "simulator/memory.h"
#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/thread_group.h"
#include "trainer/device/device.h"
#include "trainer/model/stage_model.h"
#include "trainer/optim/adamw.h"
#include "trainer/profile/measure_layers.h"
#include "trainer/profile/tensor_memory.h"

namespace sailor::trainer {
namespace {

constexpr int kTokens = 128;
const Accelerator kAccelerator("nvidia-l4");

struct MemoryCase {
  const char* name;
  ModelFamily family = ModelFamily::kGpt2;
  Precision precision = Precision::kFp32;
  bool recompute = false;
  int tensor_parallel = 1;
  bool sequence_parallel = false;
  int microbatch_size = 2;
  int in_flight = 1;
  int vocabulary = 2048;
  LayerRange layers = {0, 6};
};

JobSpec job_of(const MemoryCase& memory) {
  JobSpec job;
  job.model = testing::tiny_model(memory.family);
  job.model.blocks = 4;
  // Processors without BF16 multiply large matrices in it over twenty times as slowly as in FP32.
  job.model.hidden_size = memory.precision == Precision::kBf16 ? 128 : 256;
  job.model.heads = 8;
  job.model.kv_heads = memory.family == ModelFamily::kLlama ? 4 : 8;
  job.model.ffn_size = 4 * job.model.hidden_size;
  job.model.vocab_size = memory.vocabulary;
  job.model.max_positions = memory.family == ModelFamily::kLlama ? 0 : kTokens + job.model.first_position();
  job.model.embedding_size = memory.family == ModelFamily::kOpt ? job.model.hidden_size / 2 : 0;
  job.training.sequence_length = kTokens;
  job.training.microbatch_sizes = {memory.microbatch_size};
  job.training.precision = memory.precision;
  job.training.sequence_parallelism =
      memory.sequence_parallel ? SequenceParallelism::kAlways : SequenceParallelism::kNever;
  return job;
}

// LibTorch's RMS norm is one kernel on a GPU. On a CPU it is several operations, which keep what they exchange: this
// many numbers per token and layer.
double kept_by_norms(const MemoryCase& memory, LayerKind kind) {
  if (memory.family != ModelFamily::kLlama || kind == LayerKind::kEmbedding) return 0;
  if (kind == LayerKind::kHead) return memory.precision == Precision::kFp32 ? 1 : 4;
  return memory.precision == Precision::kFp32 ? 2 : 7;
}

Bytes kept_by_norms(const JobSpec& job, const MemoryCase& memory) {
  double norms = 0;
  for (int layer = memory.layers.first; layer < memory.layers.last; ++layer) {
    if (!memory.recompute) norms += kept_by_norms(memory, layer_kind(job.model, layer)) * memory.in_flight;
  }
  if (memory.recompute) norms = kept_by_norms(memory, LayerKind::kBlock);
  return Bytes(norms * element_size(memory.precision) * memory.microbatch_size * kTokens *
               static_cast<double>(job.model.hidden_size));
}

// All that the memory model knows except what a worker on a CPU does not have: the context of a device, and the buckets
// of an all-reduce. `profile` may be null.
Bytes modelled(const JobSpec& job, const MemoryCase& memory, const ModelProfile* profile) {
  const LayerNeeds needs(job, *find_accelerator(kAccelerator), profile,
                         {memory.microbatch_size, memory.tensor_parallel}, {.recompute = memory.recompute});
  const MemoryBreakdown use = stage_memory(needs.range(memory.layers), job.training, {},
                                           {.tensor_parallel = memory.tensor_parallel, .in_flight = memory.in_flight});
  return use.total() - use.communication - context_memory(memory.tensor_parallel, {});
}

ModelProfile measured_profile(const JobSpec& job, const MemoryCase& memory, SequenceParallelism measured_with) {
  return measure({.model = job.model,
                  .sequence_length = kTokens,
                  .accelerator = kAccelerator,
                  .microbatch_sizes = {memory.microbatch_size},
                  .tensor_parallel_sizes = {memory.tensor_parallel},
                  .precision = memory.precision,
                  .sequence_parallelism = measured_with,
                  .time = std::chrono::milliseconds(1)})
      .profile;
}

// Two steps of one worker. It keeps as many microbatches in flight as the case says.
void train_twice(const JobSpec& job, const MemoryCase& memory, const TensorParallel& group) {
  const auto [first, last] = memory.layers;
  LayerStates states;
  for (const int id : layer_states_of_stage(job.model, first, last)) {
    const StateLayout whole = layout_of(job.model, id);
    states[id] = initial_state(job.model, shard_of(whole, shard_slices(whole, group.rank())), 1);
  }
  StageModel model({.spec = job.model,
                    .first_layer = first,
                    .last_layer = last,
                    .recompute = memory.recompute,
                    .precision = memory.precision},
                   states, group);
  const at::Tensor tokens =
      at::arange(memory.microbatch_size * kTokens, at::kLong).remainder(job.model.vocab_size).view({-1, kTokens});
  const int shards = memory.sequence_parallel ? memory.tensor_parallel : 1;
  const auto message = [&] {
    return at::ones({memory.microbatch_size, kTokens / shards, job.model.hidden_size},
                    at::dtype(scalar_type_of(memory.precision)));
  };
  for (int step = 0; step < 2; ++step) {
    for (auto& [id, parameters] : model.parameters()) parameters.weights().copy_(states.at(id).weights);
    model.clear_gradients();
    for (int i = 0; i < memory.in_flight; ++i) (void)model.forward(i, first == 0 ? tokens : message(), {tokens});
    for (int i = 0; i < memory.in_flight; ++i) {
      (void)model.backward(i, last == job.model.layer_count() ? at::Tensor() : message());
    }
    for (auto& [id, parameters] : model.parameters())
      apply_adamw(states.at(id), parameters.gradient(), job.training, step + 1, 1);
  }
}

std::int64_t measured_peak(const JobSpec& job, const MemoryCase& memory) {
  std::vector<std::int64_t> peaks(static_cast<std::size_t>(memory.tensor_parallel));
  testing::in_thread_group(memory.tensor_parallel, [&](int rank, Group& group) {
    set_cpu_threads(1);
    const TensorMemory tensors;
    const TensorParallelRank place{rank, memory.tensor_parallel};
    train_twice(job, memory,
                place.tensor_parallel == 1 ? TensorParallel() : TensorParallel(group, place, memory.sequence_parallel));
    peaks.at(static_cast<std::size_t>(rank)) = tensors.peak();
  });
  return *std::ranges::max_element(peaks);
}

class PeakMemory : public ::testing::TestWithParam<MemoryCase> {};

void expect_close(const MemoryCase& memory, Bytes expected) {
  const auto peak = static_cast<double>(measured_peak(job_of(memory), memory));
  const double ratio = peak / expected.value();
  fmt::print("[ MEMORY   ] {}: peak of {:.0f} bytes, expected {:.0f}, ratio {:.3f}\n", memory.name, peak,
             expected.value(), ratio);
  EXPECT_GT(ratio, 0.95);
  EXPECT_LT(ratio, 1.03);
}

TEST_P(PeakMemory, IsCloseToTheMemoryModel) {
  const JobSpec job = job_of(GetParam());
  expect_close(GetParam(), modelled(job, GetParam(), nullptr) + kept_by_norms(job, GetParam()));
}

// Also from a profile that was measured without sequence parallelism: what that saves is then computed.
TEST(PeakMemoryFromAProfile, IsCloseToTheMemoryModel) {
  using enum SequenceParallelism;
  const MemoryCase two{.name = "two workers", .tensor_parallel = 2};
  const MemoryCase sequence{.name = "sequence parallelism", .tensor_parallel = 2, .sequence_parallel = true};
  const MemoryCase llama{.name = "LLaMA in BF16", .family = ModelFamily::kLlama, .precision = Precision::kBf16};
  for (const auto& [memory, measured_with] :
       {std::pair(two, kNever), {sequence, kNever}, {sequence, kAlways}, {llama, kNever}}) {
    const JobSpec job = job_of(memory);
    const ModelProfile profile = measured_profile(job, memory, measured_with);
    expect_close(memory, modelled(job, memory, &profile));
  }
}

using enum ModelFamily;
constexpr auto kBf16 = Precision::kBf16;

INSTANTIATE_TEST_SUITE_P(
    Cases, PeakMemory,
    ::testing::Values(
        MemoryCase{.name = "Gpt2"}, MemoryCase{.name = "Opt", .family = kOpt},
        MemoryCase{.name = "GptNeo", .family = kGptNeo}, MemoryCase{.name = "Llama", .family = kLlama},
        MemoryCase{.name = "Bf16", .precision = kBf16},
        MemoryCase{.name = "LlamaInBf16", .family = kLlama, .precision = kBf16},
        MemoryCase{.name = "Recompute", .recompute = true, .microbatch_size = 8},
        MemoryCase{.name = "LlamaRecomputed", .family = kLlama, .recompute = true, .microbatch_size = 8},
        MemoryCase{.name = "Bf16Recomputed", .precision = kBf16, .recompute = true, .microbatch_size = 8},
        MemoryCase{.name = "LargeMicrobatches", .microbatch_size = 16},
        MemoryCase{.name = "LlamaLargeMicrobatches", .family = kLlama, .microbatch_size = 16},
        MemoryCase{.name = "Bf16LargeMicrobatches", .precision = kBf16, .microbatch_size = 16},
        MemoryCase{.name = "LargeVocabulary", .vocabulary = 32768},
        MemoryCase{.name = "LargeVocabularyInBf16", .precision = kBf16, .microbatch_size = 4, .vocabulary = 32768},
        MemoryCase{.name = "LargeVocabularyAndMicrobatches", .microbatch_size = 16, .vocabulary = 32768},
        MemoryCase{.name = "FiveInFlight", .in_flight = 5},
        MemoryCase{.name = "FirstStage", .microbatch_size = 8, .in_flight = 3, .layers = {0, 3}},
        MemoryCase{.name = "MiddleStage", .microbatch_size = 16, .in_flight = 3, .layers = {1, 4}},
        MemoryCase{
            .name = "LlamaMiddleStage", .family = kLlama, .microbatch_size = 16, .in_flight = 3, .layers = {1, 4}},
        MemoryCase{.name = "LastStage", .microbatch_size = 8, .layers = {3, 6}},
        MemoryCase{.name = "TensorParallel", .tensor_parallel = 2, .microbatch_size = 8},
        MemoryCase{.name = "LlamaTensorParallel", .family = kLlama, .tensor_parallel = 2, .microbatch_size = 8},
        MemoryCase{
            .name = "LargeVocabularyTensorParallel", .tensor_parallel = 2, .microbatch_size = 8, .vocabulary = 32768},
        MemoryCase{.name = "SequenceParallel", .tensor_parallel = 2, .sequence_parallel = true, .microbatch_size = 8}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace sailor::trainer
