// PassTimes: collects how long each layer took in each pass of a measurement, and computes a robust mean. A pass is one
// microbatch forward and backward through all layers, with an update.
#pragma once

#include <vector>

#include "core/model/profile.h"

namespace sailor::trainer {

class PassTimes {
 public:
  explicit PassTimes(int layers) : layers_(static_cast<std::size_t>(layers)) {}

  void begin_pass() { passes_.emplace_back(layers_); }
  void clear() { passes_.clear(); }
  // The times of a layer in the current pass.
  [[nodiscard]] LayerTime& layer(int layer) { return passes_.back()[static_cast<std::size_t>(layer)]; }
  [[nodiscard]] int passes() const { return static_cast<int>(passes_.size()); }

  // Returns each layer's mean over the passes, without the slowest and the fastest quarter of the passes. In a slow
  // pass another program used the processor, and the fastest passes of a noisy machine do not represent a step. The
  // function leaves out whole passes. A median for each layer would be too low: with more workers than cores, a
  // different layer waits for a core in each pass.
  [[nodiscard]] std::vector<LayerTime> trimmed_means() const;

 private:
  std::size_t layers_;
  std::vector<std::vector<LayerTime>> passes_;
};

}  // namespace sailor::trainer
