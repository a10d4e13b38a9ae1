// LayerNeeds: time and memory of every layer at one profile point, measured if there is a measurement. Keeps prefix
// sums, so that any range of layers takes one subtraction.
#pragma once

#include <string>
#include <vector>

#include "core/model/accelerator.h"
#include "core/model/execution_model.h"
#include "core/model/job_spec.h"
#include "core/model/profile.h"
#include "planner/problem/layer_range.h"

namespace sailor {

// The time and memory of a range of layers on one tensor-parallel group. Parameters and bytes are per GPU.
struct RangeNeeds {
  Seconds forward;
  Seconds backward;
  Seconds update;
  double parameters = 0;
  double whole_parameters =
      0;              // of all GPUs of the group; shards of some layers overlap, so it may be less than theirs
  Bytes activations;  // the activations of one microbatch, kept for its backward pass
  // What the backward pass needs besides, at its worst moment: gradients, and activations that it computes again.
  Bytes workspace;
};

class LayerNeeds {
 public:
  struct Choices {
    bool recompute = false;     // activation checkpointing of every block
    double update_share = 1;    // ExecutionModel::update_share
    MemoryOverheads overheads;  // of which the score matrices and the logits count here
    double slowdown = 1;        // slowdown_of() the GPU's speed grade
  };
  // `profile` may be null; then all times and sizes are analytic.
  LayerNeeds(const JobSpec& job, const AcceleratorSpec& accelerator, const ModelProfile* profile, ProfilePoint point,
             const Choices& choices);

  [[nodiscard]] RangeNeeds range(LayerRange layers) const;
  // The parameters of a tied embedding on a GPU that holds it; 0 if the model ties none. Its gradients are summed over
  // the first and the last stage together.
  [[nodiscard]] double tied_parameters() const { return tied_parameters_; }
  // The parameters of range(layers) without those that the first and the last stage sum together.
  [[nodiscard]] double summed_parameters(LayerRange layers) const;
  // The size of a layer's output for one microbatch. It is not divided by the number of GPUs in the group.
  [[nodiscard]] Bytes output(int layer) const { return outputs_[static_cast<std::size_t>(layer)]; }
  // A note that says which times and sizes were not measured at this point; empty if all of them were.
  [[nodiscard]] const std::string& provenance() const { return provenance_; }

 private:
  void add_times(const JobSpec& job, const AcceleratorSpec& accelerator, const ModelProfile* profile);
  void add_memory(const JobSpec& job, const ModelProfile* profile);
  [[nodiscard]] std::vector<LayerMemory> memory_of_layers(const JobSpec& job, const ModelProfile* profile);
  void note(const std::string& text);
  [[nodiscard]] Bytes most_reached(LayerRange layers) const;

  ProfilePoint point_;
  int layers_ = 0;
  double tied_parameters_ = 0;
  bool head_counts_tied_ = false;  // some profiles leave them out of the head's parameters
  Choices choices_;
  std::vector<RangeNeeds> prefix_;  // prefix_[i] is the sum over the layers [0, i)
  // [0][i]: the activations of the layers [0, i] and what the backward pass of layer i needs besides. [k][i]: the
  // largest of these of the 2^k layers from i on, so that the largest of any range takes two of them.
  std::vector<std::vector<Bytes>> reached_;
  std::vector<Bytes> outputs_;
  std::string provenance_;
};

}  // namespace sailor
