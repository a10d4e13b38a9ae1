#include "simulator/layer_needs.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "core/model/check.h"
#include "simulator/analytic_profile.h"
#include "simulator/layer_times.h"

namespace sailor {
namespace {

// Corrects a profile that was measured without sequence parallelism. The memory that it saves follows from the model's
// shape; nothing is divided by more than the tensor-parallel size, whatever else was measured.
void apply_sequence_parallelism(LayerMemory& measured, const JobSpec& job, int tensor_parallel, int layer,
                                LogitsInMemory logits) {
  TrainingSpec without = job.training;
  without.sequence_parallelism = SequenceParallelism::kNever;
  const auto activations_with = [&](const TrainingSpec& training) {
    return analytic_layer_memory(job.model, training, tensor_parallel, layer, logits).activations_per_sample;
  };
  const Bytes saved = activations_with(without) - activations_with(job.training);
  Bytes& activations = measured.activations_per_sample;
  activations = std::max(activations - saved, activations / tensor_parallel);
}

// A matrix of heads x length^2 FP32 values for every sample of a microbatch.
Bytes attention_scores(const JobSpec& job, ProfilePoint point, int layer) {
  if (layer_kind(job.model, layer) != LayerKind::kBlock) return Bytes(0);
  constexpr double kFloat = 4;
  const double length = job.training.sequence_length;
  return Bytes(kFloat * point.microbatch_size * job.model.heads / point.tensor_parallel * length * length);
}

// The parameters of every layer on a single GPU, measured if the profile has a measurement.
std::vector<double> whole_parameters(const ModelSpec& model, const ModelProfile* profile) {
  std::vector<double> parameters;
  parameters.reserve(static_cast<std::size_t>(model.layer_count()));
  const bool is_measured = profile != nullptr && profile->memory.contains(1);
  for (int layer = 0; layer < model.layer_count(); ++layer) {
    parameters.push_back(is_measured ? profile->memory.at(1)[static_cast<std::size_t>(layer)].parameters
                                     : static_cast<double>(layer_parameters(model, layer)));
  }
  return parameters;
}

}  // namespace

LayerNeeds::LayerNeeds(const JobSpec& job, const AcceleratorSpec& accelerator, const ModelProfile* profile,
                       ProfilePoint point, const Choices& choices)
    : point_(point),
      layers_(job.model.layer_count()),
      choices_(choices),
      prefix_(static_cast<std::size_t>(layers_) + 1) {
  add_times(job, accelerator, profile);
  add_memory(job, profile);
}

void LayerNeeds::add_times(const JobSpec& job, const AcceleratorSpec& accelerator, const ModelProfile* profile) {
  LayerTimes times = layer_times(job, accelerator, profile, point_);
  provenance_ = std::move(times.note);
  for (std::size_t layer = 0; layer < times.layers.size(); ++layer) {
    const LayerTime& time = times.layers[layer];
    const bool is_block = layer_kind(job.model, static_cast<int>(layer)) == LayerKind::kBlock;
    RangeNeeds& sum = prefix_[layer + 1];
    sum = prefix_[layer];
    sum.forward += time.forward * choices_.slowdown;
    sum.backward += time.backward * choices_.slowdown;
    // Computed again from the block's input.
    if (choices_.recompute && is_block) sum.backward += time.forward * choices_.slowdown;
    sum.update += time.update * (choices_.update_share * choices_.slowdown);
  }
}

void LayerNeeds::note(const std::string& text) {
  if (!provenance_.empty()) provenance_ += "; ";
  provenance_ += text;
}

// Uses the measurement if the profile has this tensor-parallel size, else the model's shape.
std::vector<LayerMemory> LayerNeeds::memory_of_layers(const JobSpec& job, const ModelProfile* profile) {
  const int tensor_parallel = point_.tensor_parallel;
  if (profile != nullptr && profile->memory.contains(tensor_parallel)) {
    std::vector<LayerMemory> measured = profile->memory.at(tensor_parallel);
    if (tensor_parallel == 1 || profile->sequence_parallelism == job.training.sequence_parallelism) return measured;
    note(fmt::format(
        "{} was measured without sequence parallelism: its times are taken as they are, what memory that saves is "
        "computed from its shape",
        job.model.name));
    for (int layer = 0; layer < layers_; ++layer)
      apply_sequence_parallelism(measured[static_cast<std::size_t>(layer)], job, tensor_parallel, layer,
                                 choices_.overheads.logits);
    return measured;
  }
  if (profile != nullptr && !profile->memory.empty()) {
    note(fmt::format("memory of {} in groups of {}: computed from its shape, none was measured", job.model.name,
                     tensor_parallel));
  }
  std::vector<LayerMemory> analytic;
  analytic.reserve(static_cast<std::size_t>(layers_));
  for (int layer = 0; layer < layers_; ++layer) {
    analytic.push_back(
        analytic_layer_memory(job.model, job.training, tensor_parallel, layer, choices_.overheads.logits));
  }
  return analytic;
}

void LayerNeeds::add_memory(const JobSpec& job, const ModelProfile* profile) {
  const std::vector<LayerMemory> layers = memory_of_layers(job, profile);
  const std::vector<double> whole = whole_parameters(job.model, profile);
  reached_.emplace_back();
  const int token_shards = job.training.uses_sequence_parallelism() ? point_.tensor_parallel : 1;
  for (int layer = 0; layer < layers_; ++layer) {
    const auto index = static_cast<std::size_t>(layer);
    const LayerMemory& memory = layers[index];
    const Bytes activations = memory.activations_per_sample * point_.microbatch_size;
    outputs_.push_back(memory.output_per_sample * point_.microbatch_size);
    const bool is_recomputed = choices_.recompute && layer_kind(job.model, layer) == LayerKind::kBlock;
    prefix_[index + 1].parameters = prefix_[index].parameters + memory.parameters;
    prefix_[index + 1].whole_parameters = prefix_[index].whole_parameters + whole[index];
    prefix_[index + 1].activations =
        prefix_[index].activations + (is_recomputed ? outputs_.back() / token_shards : activations);
    reached_.front().push_back(prefix_[index + 1].activations +
                               analytic_workspace(job.model, job.training, point_, layer, choices_.overheads.logits) +
                               attention_scores(job, point_, layer) * choices_.overheads.score_matrices +
                               (is_recomputed ? activations : Bytes(0)));
  }
  for (std::size_t half = 1; 2 * half <= reached_.front().size(); half *= 2) {
    const std::vector<Bytes>& halves = reached_.back();
    std::vector<Bytes> pairs;
    for (std::size_t i = 0; i + half < halves.size(); ++i) pairs.push_back(std::max(halves[i], halves[i + half]));
    reached_.push_back(std::move(pairs));
  }
  // Some profiles do not count a tied head's parameters. Then they are not counted twice, and nothing is subtracted.
  const double head = prefix_.back().parameters - prefix_[prefix_.size() - 2].parameters;
  const auto apart =
      static_cast<double>(stage_parameters(job.model, 0, layers_ - 1) + layer_parameters(job.model, layers_ - 1));
  tied_parameters_ = (apart - static_cast<double>(stage_parameters(job.model, 0, layers_))) / point_.tensor_parallel;
  head_counts_tied_ = head >= tied_parameters_;
}

double LayerNeeds::summed_parameters(LayerRange layers) const {
  const double all = range(layers).parameters;
  const bool has_embedding = layers.first == 0;
  const bool has_head = layers.last == layers_;
  if (has_embedding == has_head) return all;
  return has_embedding || head_counts_tied_ ? all - tied_parameters_ : all;
}

Bytes LayerNeeds::most_reached(LayerRange layers) const {
  const auto size = static_cast<std::size_t>(layers.size());
  const std::vector<Bytes>& parts = reached_[static_cast<std::size_t>(std::bit_width(size)) - 1];
  return std::max(parts[static_cast<std::size_t>(layers.first)],
                  parts[static_cast<std::size_t>(layers.last) - std::bit_floor(size)]);
}

RangeNeeds LayerNeeds::range(LayerRange layers) const {
  const auto [first, last] = layers;
  SAILOR_CHECK(first >= 0 && first < last && last <= layers_, "layers [{}, {}) of {}", first, last, layers_);
  const RangeNeeds& from = prefix_[static_cast<std::size_t>(first)];
  const RangeNeeds& to = prefix_[static_cast<std::size_t>(last)];
  RangeNeeds needs{to.forward - from.forward, to.backward - from.backward, to.update - from.update,
                   to.parameters - from.parameters, to.whole_parameters - from.whole_parameters,
                   to.activations - from.activations,
                   // The backward pass has freed the activations of later layers by then.
                   most_reached(layers) - to.activations};
  if (first == 0 && last == layers_ && head_counts_tied_) needs.parameters -= tied_parameters_;
  return needs;
}

}  // namespace sailor
